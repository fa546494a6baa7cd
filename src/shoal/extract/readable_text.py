"""A page for reading: its main content or the whole page as markdown, or its main text alone.

Markdown needs html-to-markdown, and the better of two main texts trafilatura; both come with `shoal[text]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborNode

from shoal.errors import MissingExtra
from shoal.extract.document import Document
from shoal.extract.elements import lines_of, text_of, whole_tree
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.main_content import main_content
from shoal.extract.page import MAX_HTML_BYTES, MAX_TEXT
from shoal.extract.selector_cost import is_deeper
from shoal.extract.tables import span_of

MAX_DEPTH = 128
"""Both libraries look at an element again for those around it: 85 KB of paragraphs in 400 quotes take gigabytes."""
MAX_TAGS = 200_000
MAX_TABLE_CELLS = 20_000
"""trafilatura makes an element of every column that a cell spans, in every row: 5 KB of cells take it six seconds."""
LEAST_CHARS = 25
"""Shorter lines may be missing: cells, labels and bylines."""
_PARAGRAPHS = "p, pre, blockquote, h1, h2, h3, h4, li, dd, td"
_APART = frozenset(("aside", "footer", "form", "header", "nav"))


def main_markdown(html: bytes, base_url: str) -> str:
    """The main content as markdown; the whole page if no part of it stands out. Like `to_markdown`."""
    content = main_content(html[:MAX_HTML_BYTES])
    return to_markdown(html if content is None else content.html.encode(), base_url)


def to_markdown(html: bytes, base_url: str) -> str:
    """`html` is UTF-8; links are made absolute. Raises MissingExtra if the extra is not installed."""
    try:
        from html_to_markdown import ConversionOptions, convert
    except ImportError:
        raise MissingExtra("markdown needs a further package", "text") from None
    options = ConversionOptions(base_url=base_url, extract_metadata=False, max_depth=500, skip_images=True)
    return (convert(html[:MAX_HTML_BYTES].decode("utf-8", "replace"), options).content or "")[:MAX_TEXT]


def check_shape(root: LexborNode, html: bytes) -> None:
    """Raises UnparsablePage if the libraries behind `main_text` and `to_markdown` would take too long on the page."""
    if html.count(b"<") > MAX_TAGS:
        raise UnparsablePage("", f"it has more than {MAX_TAGS:,} tags")
    if is_deeper(root, MAX_DEPTH):
        raise UnparsablePage("", f"its elements are nested more than {MAX_DEPTH} deep")


def _clamp_spans(root: LexborNode) -> None:
    """Takes the spans out of tables that they would blow up; a table as it should be keeps them."""
    spanning = root.css("td[colspan], td[rowspan], th[colspan], th[rowspan]")
    rows = len(root.css("tr"))
    widest = max((span_of(cell, "colspan") for cell in spanning), default=1)
    if rows * widest <= MAX_TABLE_CELLS and len(spanning) * widest <= MAX_TABLE_CELLS:
        return
    for cell in spanning:
        for name in ("colspan", "rowspan"):
            if name in cell.attributes:
                del cell.attrs[name]


def main_text(document: Document, html: bytes) -> str:
    """What the page is about, without navigation, a paragraph a line; raises UnparsablePage. `html` is the page before
    it was parsed."""
    text = _judged_text(document)
    content = main_content(html[:MAX_HTML_BYTES])
    if content is None or not content.stands_out:
        return text
    # trafilatura takes short paragraphs and texts without one for something beside the content.
    lines = lines_of(whole_tree(content.html.encode()))
    return text if _has_all(text, lines) else "\n".join(lines)[:MAX_TEXT]


def _has_all(text: str, lines: Iterable[str]) -> bool:
    words = " ".join(text.split())
    return all(line in words for line in lines if len(line) >= LEAST_CHARS)


def _judged_text(document: Document) -> str:
    root = document.root
    try:
        from trafilatura import extract
    except ImportError:
        return _densest(root)
    _clamp_spans(root)
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
