"""A page for reading: as markdown, or its main text alone.

Markdown needs html-to-markdown, and the better of two main texts trafilatura; both come with `shoal[text]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from shoal.errors import MissingExtra
from shoal.extract.document import Document
from shoal.extract.elements import text_of
from shoal.extract.page import MAX_HTML_BYTES, MAX_TEXT

_PARAGRAPHS = "p, pre, blockquote, h1, h2, h3, h4, li, dd, td"
_APART = frozenset(("aside", "footer", "form", "header", "nav"))


def to_markdown(html: bytes, base_url: str) -> str:
    """`html` is UTF-8; links are made absolute. Raises MissingExtra if the extra is not installed."""
    try:
        from html_to_markdown import ConversionOptions, convert
    except ImportError:
        raise MissingExtra("markdown needs a further package", "text") from None
    options = ConversionOptions(base_url=base_url, extract_metadata=False, max_depth=500, skip_images=True)
    return (convert(html[:MAX_HTML_BYTES].decode("utf-8", "replace"), options).content or "")[:MAX_TEXT]


def main_text(document: Document) -> str:
    """What the page is about, without navigation, a paragraph a line; raises TwistedPage."""
    root = document.root
    try:
        from trafilatura import extract
    except ImportError:
        return _densest(root)
    # The tree as lexbor repaired it: a page that was let through is no danger to lxml either.
    text: str | None = extract(root.html or "", url=document.url, include_comments=False, include_tables=True)
    return text[:MAX_TEXT] if text else _densest(root)


def _densest(root: LexborNode) -> str:
    """The paragraphs of the element in which most unlinked text lies, directly or one level down."""
    weights: dict[int, float] = {}
    places: dict[int, LexborNode] = {}
    for node in root.css(_PARAGRAPHS):
        weight = float(len(text_of(node)) - 2 * sum(len(link.text()) for link in node.css("a")))
        for place in _around(node):
            weights[place.mem_id] = weights.get(place.mem_id, 0.0) + weight
            places[place.mem_id] = place
            weight /= 2
    if not weights:
        return text_of(root)[:MAX_TEXT]
    best = places[max(weights, key=weights.__getitem__)]
    return "\n".join(filter(None, map(text_of, best.css(_PARAGRAPHS))))[:MAX_TEXT]


def _around(node: LexborNode) -> Iterator[LexborNode]:
    """Parent and grandparent, if they are no part of what surrounds the text on every page of a site."""
    for _ in range(2):
        parent = node.parent
        if parent is None or parent.tag in _APART or parent.tag in ("html", "-document"):
            return
        yield parent
        node = parent
