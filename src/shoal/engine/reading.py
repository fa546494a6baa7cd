"""What is read of an answer, as plain values: the same whether it is read here or in another process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from shoal.extract.page import MAX_HTML_BYTES, read
from shoal.extract.sitemaps import Sitemap
from shoal.fetch.charset import charset, to_utf8
from shoal.fetch.queries import queries_in

BIG_BYTES = 256 * 1024
"""Of a page that is read aside: a smaller one takes the event loop 5 ms as a rule and 0.1 s at worst, all links."""
BIG_PACKED_BYTES = 4 * 1024
"""The same of a gzipped sitemap, which may grow a thousandfold."""
ENTRIES_AT_ONCE = 1_000
_BEGINNING_BYTES = 1024
_GZIP_MAGIC = b"\x1f\x8b"


class Ask(NamedTuple):
    """How a page is to be read."""

    url: str
    content_type: str
    header_robots: str
    """The X-Robots-Tag headers, one a line."""
    agent: str
    """By which name directives may call us."""
    obey: bool
    keep_text: bool
    formats: tuple[str, ...] = ()


@dataclass(slots=True)
class PageRead:
    title: str | None
    description: str | None
    language: str | None
    base: str | None
    canonical: str | None
    hrefs: list[str]
    nofollowed: int
    beyond: int
    text: str | None
    """None: the page asks not to be kept, or the job does not want it."""
    formats: dict[str, Any] = field(default_factory=dict)
    """Made in another process only: how long they take hangs on the page."""
    missing: dict[str, str] = field(default_factory=dict)
    """Format -> why it could not be made."""


class SitemapPart(NamedTuple):
    pages: list[str]
    sitemaps: list[str]
    fault: str | None = None
    """Why the reading stopped before the end; only of the last part."""


def read_part(body: bytes) -> bytes:
    """As much as is read of a page however big it is."""
    # UTF-16 is twice as long as what is made of it, and cannot begin a page without a zero.
    return body[: 2 * MAX_HTML_BYTES if b"\0" in body[:_BEGINNING_BYTES] else MAX_HTML_BYTES]


def read_page(ask: Ask, body: bytes) -> PageRead:
    html = to_utf8(body, ask.content_type)
    reading = read(html, ask.header_robots, ask.obey, ask.agent)
    kept = ask.keep_text and not (reading.noindex and ask.obey)
    return PageRead(
        reading.title,
        reading.description,
        reading.language,
        reading.base,
        reading.canonical,
        reading.hrefs if html is body else queries_in(charset(body, ask.content_type)[0], reading.hrefs),
        reading.nofollowed,
        reading.beyond,
        reading.raw_text() if kept else None,
    )


def read_sitemap(body: bytes) -> Iterator[SitemapPart]:
    sitemap = Sitemap(body)
    entries = iter(sitemap)
    while part := list(islice(entries, ENTRIES_AT_ONCE)):
        pages = [entry.url for entry in part if entry.kind == "url"]
        yield SitemapPart(pages, [entry.url for entry in part if entry.kind == "sitemap"])
    if sitemap.fault is not None:
        yield SitemapPart([], [], sitemap.fault)


def is_big_sitemap(body: bytes) -> bool:
    return len(body) > (BIG_PACKED_BYTES if body.startswith(_GZIP_MAGIC) else BIG_BYTES)
