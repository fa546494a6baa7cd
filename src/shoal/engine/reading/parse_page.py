"""The parts of a response that are read, as plain values: the same here and in a reader process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from shoal.extract.page import MAX_HTML_BYTES, PageHead, read
from shoal.extract.parser_choice import HAS_SCANNER
from shoal.fetch.charset import charset, to_utf8
from shoal.fetch.query_encoding import queries_in

BIG_BYTES = 256 * 1024
"""Size from which a reader process reads what libraries parse. A smaller page takes the event loop 5 ms, at worst (all
links) 0.1 s. The compiled scanner takes 20 ms for the largest page, at worst 0.2 s."""
BIG_PACKED_BYTES = 4 * 1024
"""The same limit for a gzipped sitemap, which may grow a thousandfold."""
ENTRIES_AT_ONCE = 1_000
_BEGINNING_BYTES = 1024
_GZIP_MAGIC = b"\x1f\x8b"


class ParseRequest(NamedTuple):
    """How to read a page."""

    url: str
    content_type: str
    header_robots: str
    """The X-Robots-Tag headers, one per line."""
    agent: str
    """The name by which directives may address us."""
    obey_noindex: bool
    obey_nofollow: bool
    keep_text: bool
    formats: tuple[str, ...] = ()


@dataclass(slots=True)
class ParsedPage:
    """What is read of a page."""

    head: PageHead
    description: str | None
    language: str | None
    hrefs: list[str]
    nofollowed: int
    for_programs: int
    beyond: int
    text: bytes | None
    """In UTF-8. None: the page asks not to be indexed, or the job does not need the text."""
    formats: dict[str, Any] = field(default_factory=dict)
    """Made in a reader process only, because their time depends on the page."""
    missing: dict[str, str] = field(default_factory=dict)
    """Format -> why it could not be made."""


class SitemapPart(NamedTuple):
    pages: list[str]
    sitemaps: list[str]
    fault: str | None = None
    """Why the reading stopped before the end; only in the last part."""


def truncate_body(body: bytes) -> bytes:
    """The part of a page that is read, however big the page is."""
    # UTF-16 takes twice as many bytes, and always has a zero byte near the beginning of a page.
    return body[: 2 * MAX_HTML_BYTES if b"\0" in body[:_BEGINNING_BYTES] else MAX_HTML_BYTES]


def is_read_here(body: bytes) -> bool:
    """Whether the event loop may read a page, without its formats."""
    return HAS_SCANNER or len(body) <= BIG_BYTES


def read_page(ask: ParseRequest, body: bytes) -> ParsedPage:
    html = to_utf8(body, ask.content_type)
    reading = read(html, ask.header_robots, ask.obey_nofollow, ask.agent, ask.keep_text)
    offer_log = ask.keep_text and not (reading.noindex and ask.obey_noindex)
    return ParsedPage(
        reading.head,
        reading.description,
        reading.language,
        reading.hrefs if html is body else queries_in(charset(body, ask.content_type)[0], reading.hrefs),
        reading.nofollowed,
        reading.for_programs,
        reading.beyond,
        reading.raw_text() if offer_log else None,
    )


def read_sitemap(body: bytes) -> Iterator[SitemapPart]:
    # Imported here only: most crawls read no sitemap.
    from shoal.extract.sitemaps import Sitemap

    sitemap = Sitemap(body)
    entries = iter(sitemap)
    while part := list(islice(entries, ENTRIES_AT_ONCE)):
        pages = [entry.url for entry in part if entry.kind == "url"]
        yield SitemapPart(pages, [entry.url for entry in part if entry.kind == "sitemap"])
    if sitemap.fault is not None:
        yield SitemapPart([], [], sitemap.fault)


def is_big_sitemap(body: bytes) -> bool:
    return len(body) > (BIG_PACKED_BYTES if body.startswith(_GZIP_MAGIC) else BIG_BYTES)
