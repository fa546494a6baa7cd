"""A page to select from. It is parsed when first asked, by lexbor; XPath sees the same tree, taken over to lxml.

A page that lexbor might choke on raises TwistedPage when it is first asked, and every time after that.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from shoal.extract.elements import Element, attribute_of, element_of, node_of, text_of, text_of_element, whole_tree
from shoal.extract.faults import TwistedPage
from shoal.extract.page import MAX_HTML_BYTES
from shoal.extract.preflight import objection
from shoal.extract.selectors import css, xpath
from shoal.extract.source import TREE_MAX_BYTES, TREE_MAX_TAGS


class Document:
    """`body` is HTML in UTF-8, of which the first 10 MB are read; `url` is what its links are relative to."""

    __slots__ = ("_body", "_element", "_objection", "_root", "url")

    def __init__(self, body: bytes, url: str) -> None:
        self.url = url
        self._body = body[:MAX_HTML_BYTES]
        self._root: LexborNode | None = None
        self._objection: str | None = None
        self._element: Element = None

    @property
    def is_parsed(self) -> bool:
        return self._root is not None

    @property
    def root(self) -> LexborNode:
        if self._root is None:
            self._root = self._parsed()
        return self._root

    @property
    def element(self) -> Element:
        if self._element is None:
            self._element = element_of(self.root)
        return self._element

    def css(self, selector: str) -> list[Node]:
        return Node(self.root).css(selector)

    def xpath(self, selector: str) -> list[Node]:
        return _nodes(selector, self.element)

    def _parsed(self) -> LexborNode:
        if self._objection is None and not is_small(self._body):
            self._objection = objection(self._body)
        if self._objection is not None:
            raise TwistedPage(self.url, self._objection)
        return whole_tree(self._body)


class Node:
    """An element of a page. One found by CSS is, to XPath, the root of a page of its own."""

    __slots__ = ("_element", "_node")

    def __init__(self, node: LexborNode | None, element: Element = None) -> None:
        self._node = node
        self._element = element

    @property
    def root(self) -> LexborNode:
        if self._node is None:
            self._node = node_of(self._element)
        return self._node

    @property
    def element(self) -> Element:
        if self._element is None:
            self._element = element_of(self.root)
        return self._element

    @property
    def text(self) -> str:
        """Visible text, whitespace folded."""
        return text_of_element(self._element) if self._node is None else text_of(self._node)

    @property
    def html(self) -> str:
        return self.root.html or ""

    def attr(self, name: str) -> str | None:
        return attribute_of(self.root, name)

    def css(self, selector: str) -> list[Node]:
        """The elements it matches, this one included; raises BadSelector."""
        return [Node(node) for node in css(selector).nodes(self.root)]

    def xpath(self, selector: str) -> list[Node]:
        """Elements only: for strings and numbers use a Selector. Raises BadSelector."""
        return _nodes(selector, self.element)


def _nodes(selector: str, element: Element) -> list[Node]:
    found = xpath(selector).evaluate(element)
    return [Node(None, each) for each in found if hasattr(each, "tag")] if isinstance(found, list) else []


def is_small(html: bytes) -> bool:
    """Small enough to be parsed without a look at its bytes first."""
    return tags_if_small(html) is not None


def tags_if_small(html: bytes) -> int | None:
    """How many tags a small page has, counted by their beginnings; None: it is not small."""
    if len(html) > TREE_MAX_BYTES:
        return None
    tags = html.count(b"<")
    return tags if tags <= TREE_MAX_TAGS else None
