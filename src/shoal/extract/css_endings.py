"""What a CSS selector takes from the elements that match: `::text`, `::attr(name)` or `::html` at its end.

With a space before it, as in `div ::text`, or with no element before it, `::text` and `::attr(name)` are of all that is
in the elements, too. In a list, the ending of the last part holds for all, and the others may have the same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from shoal.extract.elements import (
    attribute_of,
    attributes_of,
    own_text_of,
    own_texts_of,
    text_of,
    text_of_text_node,
)

Read = Callable[[LexborNode], str | None]
ReadAll = Callable[[Sequence[LexborNode]], Sequence[str | None]]

# Scrapy allows quotes around the name of an attribute.
_ENDING = re.compile(r"::(?:(text)|(html)|attr\(\s*(['\"]?)([^()\s'\"]+)\3\s*\))\s*\Z")
_TOKEN = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()\[\],]""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ending:
    kind: str = ""
    """text, html, attr, or nothing: the element's text with that of its children."""
    name: str = ""
    """Of the attribute, in lower case."""
    is_inner: bool = False
    """Whether it is of all that is in the elements, too."""

    def reader(self) -> Read:
        """From an element to its value, or the first of those in it; None if there is none."""
        if self.is_inner:
            return lambda node: next(self.inner_values([node]), None)
        if self.kind == "attr":
            name = self.name
            return lambda node: attribute_of(node, name)
        return {"text": own_text_of, "html": _html_of}.get(self.kind, text_of)

    def reader_of_many(self) -> ReadAll:
        if self.kind == "text" and not self.is_inner:
            return own_texts_of
        if self.kind == "attr" and not self.is_inner:
            name = self.name
            return lambda nodes: attributes_of(nodes, name)
        read = self.reader()
        return lambda nodes: list(map(read, nodes))

    def inner_values(self, elements: Sequence[LexborNode]) -> Iterator[str]:
        """Of the elements and all that is in them, in page order."""
        of_text = self.kind == "text"
        # What lies within an element before it is read with that one.
        unread = {element.mem_id for element in elements}
        for element in elements:
            if element.mem_id not in unread:
                continue
            for node in element.traverse(include_text=of_text):
                unread.discard(node.mem_id)
                value = text_of_text_node(node) if of_text else self._attribute_of(node)
                if value is not None:
                    yield value

    def _attribute_of(self, node: LexborNode) -> str | None:
        return attribute_of(node, self.name) if node.is_element_node else None


def split_ending(selector: str) -> tuple[str, Ending]:
    """The selector of the elements, and what is taken of them. Each character of it stays at its place.

    Endings that do not fit stay in it.
    """
    *parts, last = _parts(selector)
    query, ending = _split(last)
    if not ending.kind:
        return selector, ending
    split = [_split(part) for part in parts]
    others = [cut if theirs == ending else part for part, (cut, theirs) in zip(parts, split, strict=True)]
    return ",".join([*others, query.rstrip()]), ending


def _parts(selector: str) -> list[str]:
    """Those of a list, `a, b`."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(selector):
        if token[0] == "," and depth == 0:
            parts.append(selector[start : token.start()])
            start = token.end()
        depth += (token[0] in "([") - (token[0] in ")]")
    return [*parts, selector[start:]]


def _split(part: str) -> tuple[str, Ending]:
    found = _ENDING.search(part)
    if found is None:
        return part, Ending()
    before = part[: found.start()]
    kind = found[1] or found[2] or "attr"
    has_element = bool(before.strip())
    # `div > ::text` is of the children.
    is_of_any = before.rstrip()[-1] in ">+~" if has_element else kind != "html"
    is_inner = kind != "html" and (not has_element or (before[-1].isspace() and not is_of_any))
    return (before + "*" * is_of_any).ljust(len(part)), Ending(kind, (found[4] or "").lower(), is_inner)


def _html_of(node: LexborNode) -> str | None:
    return node.html
