"""Small pages that take far longer to read than their size suggests: to make formats, or to run selectors of rules."""

from __future__ import annotations

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Site

SPANS, MANY_SPANS = "/costly/spans.html", "/costly/many-spans.html"
NESTED, SIBLINGS, QUOTES = "/costly/nested.html", "/costly/siblings.html", "/costly/quotes.html"
_HEAD = b"<!doctype html><title>Costly</title><article><p>" + b"Some words to read. " * 20 + b"</p>"
_ROW = b"<tr><td colspan=1000 rowspan=1000>x</td></tr>"


def spanning(rows: int) -> bytes:
    """Tables whose cells span thousands of columns and rows: 4 KB of them took trafilatura seconds."""
    return _HEAD + b"<table>" + _ROW * rows + b"</table>"


def nested_spans(depth: int) -> bytes:
    return _HEAD + b"<table>" * depth + _ROW * 20 + b"</table>" * depth


def siblings(number: int) -> bytes:
    """For selectors that visit all siblings, or all elements, of each element."""
    return _HEAD + b"<p>x</p>" * number


def quotes(depth: int, number: int) -> bytes:
    """Markdown starts each line with a mark for every enclosing quote."""
    return _HEAD + b"<blockquote>" * depth + b"<p>x" * number


COSTLY = {
    SPANS: spanning(100),
    MANY_SPANS: spanning(4_600),
    NESTED: nested_spans(30),
    SIBLINGS: siblings(30_000),
    QUOTES: quotes(300, 20_000),
}


def costly() -> list[Behaviour]:
    return [
        Behaviour(
            f"Costly to read, {len(body):,} bytes", path, {path: _answer(body)}, ExpectedResults(pages={path: 200})
        )
        for path, body in COSTLY.items()
    ]


def _answer(body: bytes) -> Site:
    return lambda visit: Answer(200, body)
