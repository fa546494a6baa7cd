"""A page as lexbor's tree.

Elements are looked up by tag, one tag after the other: that is a walk over the tree in C. A selector costs 15 times
as much, a quarter of the parse.
"""

from collections.abc import Iterable, Mapping

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from shoal.extract.html_tags import FRAMES, LINKS, SAYING, UNSEEN
from shoal.urls.absolute_hrefs import without_fragment

# Mutation events make a <select> cost the square of its options and give us nothing.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)


class TreeParser:
    __slots__ = ("_parser",)

    def __init__(self, html: bytes) -> None:
        self._parser = LexborHTMLParser(html, options=_OPTIONS)

    def language(self) -> str | None:
        root = self._parser.root
        return root.attributes.get("lang") if root else None

    def sayings(self) -> list[tuple[str, dict[str, str | None]]]:
        return [(tag, node.attributes) for tag in SAYING for node in self._parser.tags(tag)]

    def links(self) -> tuple[list[str], dict[int, str]]:
        return hrefs_and_rels(node.attributes for node in self._any_of(LINKS))

    def frames(self) -> list[str]:
        return [src for node in self._any_of(FRAMES) if (src := node.attributes.get("src"))]

    def title(self) -> str | None:
        for node in self._parser.tags("title"):
            if not _is_caption(node):
                return node.text()
        return None

    def text(self) -> bytes:
        # Innermost first: removing an element frees what it holds.
        for node in reversed(self._any_of(UNSEEN)):
            node.decompose()
        body = self._parser.body
        return body.text(separator=" ").encode("utf-8", "replace") if body else b""

    def _any_of(self, tags: tuple[str, ...]) -> list[LexborNode]:
        """In page order, for which a selector is needed only where the page has several of these tags."""
        found = [nodes for tag in tags if (nodes := self._parser.tags(tag))]
        if len(found) > 1:
            return self._parser.css(",".join(tags))
        return found[0] if found else []


def hrefs_and_rels(links: Iterable[Mapping[str, str | None]]) -> tuple[list[str], dict[int, str]]:
    """From the attributes of links: the hrefs, and the rels by the place of their href."""
    hrefs: list[str] = []
    rels: dict[int, str] = {}
    for link in links:
        if href := link.get("href"):
            if rel := link.get("rel"):
                rels[len(hrefs)] = rel
            hrefs.append(without_fragment(href))
    return hrefs, rels


class HeadParser:
    """The head of a page that is parsed already. It has no links and no text."""

    __slots__ = ("_root",)

    def __init__(self, root: LexborNode) -> None:
        self._root = root

    def language(self) -> str | None:
        return self._root.attributes.get("lang")

    def sayings(self) -> list[tuple[str, dict[str, str | None]]]:
        head = self._root.parser.head
        children = head.iter() if head else ()
        return [(tag, node.attributes) for node in children if (tag := node.tag) in SAYING]

    def links(self) -> tuple[list[str], dict[int, str]]:
        return [], {}

    def frames(self) -> list[str]:
        return []

    def title(self) -> str | None:
        nodes = self._root.parser.tags("title")
        return nodes[0].text() if nodes else None

    def text(self) -> bytes:
        return b""


def _is_caption(title: LexborNode) -> bool:
    """A title within a drawing."""
    above = title.parent
    while above is not None and above.tag != "svg":
        above = above.parent
    return above is not None
