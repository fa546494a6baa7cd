"""Text and attributes of elements, of lexbor or lxml, and the conversion from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from shoal.extract.html_tags import UNSEEN

# See tree.py.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)
_BLOCK_TAGS = """
    address article aside blockquote br caption dd details dialog div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre section select summary table tbody td tfoot th
    thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
"""Elements that separate words. Inline elements do not: `$<b>12</b>.99` is `$12.99`."""
_CONTEXTS = {
    **dict.fromkeys(("caption", "colgroup", "tbody", "tfoot", "thead"), "table"),
    **{"tr": "tbody", "td": "tr", "th": "tr", "col": "colgroup"},
}
"""The parent that an HTML parser requires for an element."""

_ASCII_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
"""All white space except the space."""

Element = Any
"""An lxml element; lxml has no types."""


def text_of(node: LexborNode) -> str:
    child = node.first_child
    if child is None or (child.next is None and child.tag == "-text"):
        return _folded(node.text())
    return " ".join("".join(_words(node)).split())


def lines_of(node: LexborNode) -> list[str]:
    """The text of each block, in page order."""
    lines = "".join(_words(node, "\n")).splitlines()
    return [folded for line in lines if (folded := " ".join(line.split()))]


def own_text_of(node: LexborNode) -> str:
    return _folded(node.text(deep=False))


def own_texts_of(nodes: Sequence[LexborNode]) -> list[str]:
    texts = [node.text(deep=False) for node in nodes]
    whole = "".join(texts)
    # In many characters a few are found sooner than each is looked up.
    plain = (whole.isascii() and not any(blank in whole for blank in _ASCII_BLANKS)) or whole.isprintable()
    return [text.strip() for text in texts] if plain and "  " not in whole else list(map(_folded, texts))


def text_of_text_node(node: LexborNode) -> str | None:
    """None if it is blank, or no text."""
    return _folded(node.text()) or None if node.tag == "-text" else None


def _folded(text: str) -> str:
    # Of all white space only the space is printable: most texts need no more than a look.
    return text.strip() if text.isprintable() and "  " not in text else " ".join(text.split())


def attribute_of(node: LexborNode, name: str) -> str | None:
    attributes = node.attrs
    value = attributes.get(name)
    # lexbor returns None both for an empty attribute and for a missing one.
    return "" if value is None and name in attributes else value


def attributes_of(nodes: Sequence[LexborNode], name: str) -> list[str | None]:
    values = [node.attrs.get(name) for node in nodes]
    return values if all(values) else [attribute_of(node, name) for node in nodes]


def _words(node: LexborNode, between_blocks: str = " ") -> Iterator[str]:
    """Depth first, without recursion. A str on the stack marks the end of a block."""
    pending: list[LexborNode | str] = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            yield each
        elif each.tag == "-text":
            yield each.text()
        elif each.tag not in UNSEEN:
            if each.tag in _BLOCKS:
                yield between_blocks
                pending.append(between_blocks)
            children = list(each.iter(include_text=True))
            children.reverse()
            pending.extend(children)


def element_of(node: LexborNode) -> Element:
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    root = etree.fromstring((node.html or "").encode("utf-8", "replace"), parser)
    if root is None:
        return etree.Element("html")
    if node.tag == "html":
        return root
    wanted = next(root.iter(node.tag), root)
    wanted.tail = None
    # A root of its own, so that // does not reach the html and body that lxml has put around it.
    return deepcopy(wanted)


def text_of_element(element: Element) -> str:
    from lxml import etree

    words = []
    for event, each in etree.iterwalk(element, events=("start", "end")):
        part = " " if each.tag in _BLOCKS else ""
        if event == "start":
            words.append(part + ("" if each.tag in UNSEEN else each.text or ""))
        else:
            words.append(part + (each.tail or "" if each is not element else ""))
    return " ".join("".join(words).split())


def html_of_element(element: Element) -> str:
    from lxml import etree

    return str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))


def node_of(element: Element) -> LexborNode:
    html = html_of_element(element).encode("utf-8", "replace")
    if element.tag not in ("html", "head", "body"):
        around = _CONTEXTS.get(element.tag, "div")
        node = LexborHTMLParser(html, is_fragment=True, fragment_tag=around, options=_OPTIONS).root
        if node is not None:
            return node
    root = whole_tree(html)
    return root.css_first(element.tag) or root


def whole_tree(html: bytes) -> LexborNode:
    root = LexborHTMLParser(html, options=_OPTIONS).root
    # lexbor makes an html element of anything, nothing included.
    assert root is not None
    return root
