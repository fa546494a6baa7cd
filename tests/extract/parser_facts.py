"""What a parser takes from a page, in a form in which two parsers can be compared."""

from __future__ import annotations

from typing import NamedTuple

from shoal.extract.parser_choice import Attributes, PageParser

_READ = {"base": ("href",), "link": ("href", "rel", "type"), "meta": ("content", "http-equiv", "name")}


class Facts(NamedTuple):
    language: str
    title: str
    sayings: dict[str, list[dict[str, str]]]
    hrefs: list[str]
    rels: dict[str, str]
    """By the first href with each."""
    frames: list[str]
    text: str
    """With collapsed white space."""

    def without_spaces(self) -> Facts:
        """A tree may take a tag, and the words beside it are one."""
        return self._replace(text=self.text.replace(" ", ""), title=self.title.replace(" ", ""))


def facts(parser: PageParser) -> Facts:
    """A tree repeats links that are never closed: here each is given once."""
    hrefs, rels = parser.links()
    sayings: dict[str, list[dict[str, str]]] = {tag: [] for tag in _READ}
    for tag, attributes in parser.sayings():
        sayings[tag].append(_read(tag, attributes))
    return Facts(
        language=parser.language() or "",
        title=_folded(parser.title() or ""),
        sayings=sayings,
        hrefs=list(dict.fromkeys(hrefs)),
        rels={hrefs[place]: rel for place, rel in sorted(rels.items(), reverse=True) if rel},
        frames=parser.frames(),
        text=_folded(parser.text().decode("utf-8", "replace")),
    )


def _read(tag: str, attributes: Attributes) -> dict[str, str]:
    return {name: value for name in _READ[tag] if (value := attributes.get(name))}


def _folded(text: str) -> str:
    return " ".join(text.split())
