"""A page to select from. lexbor parses it on first use. XPath works on the same tree, converted to lxml.

A page that lexbor might fail on raises UnparsablePage on every use.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from shoal.extract.elements import Element, attribute_of, element_of, node_of, text_of, text_of_element, whole_tree
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.library_parser import TREE_MAX_BYTES, TREE_MAX_TAGS
from shoal.extract.nesting_check import nesting_problem
from shoal.extract.page import MAX_HTML_BYTES
from shoal.extract.selectors import css, xpath


class Document:
    """`body` is HTML in UTF-8; only the first 10 MB are parsed. Links are relative to `url`."""

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
            self._objection = nesting_problem(self._body)
        if self._objection is not None:
            raise UnparsablePage(self.url, self._objection)
        return whole_tree(self._body)


class Node:
    """An element of a page. XPath sees an element that CSS found as the root of its own page."""

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
        """Visible text with collapsed white space."""
        return text_of_element(self._element) if self._node is None else text_of(self._node)

    @property
    def html(self) -> str:
        return self.root.html or ""

    def attr(self, name: str) -> str | None:
        return attribute_of(self.root, name)

    def css(self, selector: str) -> list[Node]:
        """The matching elements, which may include this one. Raises BadSelector."""
        return [Node(node) for node in css(selector).nodes(self.root)]

    def xpath(self, selector: str) -> list[Node]:
        """Elements only: for strings and numbers use a Selector. Raises BadSelector."""
        return _nodes(selector, self.element)


def _nodes(selector: str, element: Element) -> list[Node]:
    found = xpath(selector).evaluate(element)
    return [Node(None, each) for each in found if hasattr(each, "tag")] if isinstance(found, list) else []


def is_small(html: bytes) -> bool:
    """A page of this size is parsed without checking its bytes first."""
    return tags_if_small(html) is not None


def tags_if_small(html: bytes) -> int | None:
    """The number of start tags of a small page. None if the page is not small."""
    if len(html) > TREE_MAX_BYTES:
        return None
    tags = html.count(b"<")
    return tags if tags <= TREE_MAX_TAGS else None
