"""Bad sitemaps: too large, endless, recursive, with entities or malformed XML. Together they list only a few pages."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.hostile.decompression_bombs import sitemap_bomb
from shoal.practice.hostile.metadata_addresses import NEVER
from shoal.practice.request import Answer, Site, Visit

ENTRIES = 1_000_000
LISTED, SLOPPY, AFTER = (f"/good/{name}.html" for name in ("listed", "sloppy", "after"))
UNREAD = tuple(f"/private/&{entity};" for entity in ("file", "l9", "more"))
"""URLs with an entity, which no crawler may expand. They stay as they are written."""
LISTED_IN_SITEMAPS = ExpectedResults(
    unlinked={LISTED: 200, SLOPPY: 200, AFTER: 200}, dropped=dict.fromkeys(UNREAD, "robots")
)
USUAL = "/sitemap.xml"
"""Where crawlers look for a sitemap if robots.txt names none."""
NESTED = "/sitemap-nested-"
DTD = "/dtd/"
_ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def wild_sitemaps() -> Mapping[str, Site]:
    """Sitemaps that robots.txt names."""
    return {
        "/sitemap-itself.xml": _itself,
        "/sitemap-entities.xml": _entities,
        "/sitemap-dtd.xml": _external_dtd,
        "/sitemap-sloppy.xml": _sloppy,
        "/sitemap-never.xml": lambda visit: _xml(f"<urlset>{_entry(f'http://{NEVER}/listed')}</urlset>"),
        "/sitemap-bomb.xml.gz": sitemap_bomb(),
        "/sitemap-million.xml.gz": _million,
        f"{NESTED}1.xml": _nested,
    }


def deeper_sitemaps() -> Mapping[str, Site]:
    """Sitemaps that only other sitemaps name, and the DTDs that a naive parser would load."""
    return {f"{NESTED}*": _nested, f"{DTD}*": lambda visit: Answer(200, b"<!ENTITY more 'x'>", "application/xml-dtd")}


def empty(visit: Visit) -> Answer:
    return _xml("<urlset></urlset>")


def _itself(visit: Visit) -> Answer:
    origin = visit.origin(visit.host)
    itself = f"<sitemap><loc>{origin}{visit.path}</loc></sitemap>"
    # An index and a list in one; readers may treat it as either.
    return _xml(f"<sitemapindex>{itself * 100}{_entry(origin + LISTED)}</sitemapindex>")


def _nested(visit: Visit) -> Answer:
    """Each names the next, endlessly."""
    number = int(visit.path.removeprefix(NESTED).removesuffix(".xml"))
    there = f"{visit.origin(visit.host)}{NESTED}{number + 1}.xml"
    return _xml(f"<sitemapindex><sitemap><loc>{there}</loc></sitemap></sitemapindex>")


def _million(visit: Visit) -> Answer:
    """All entries are the same page: this tests only the reading."""
    entry = _entry(visit.origin(visit.host) + LISTED)
    # Several gzip members in one file, so that a thousand entries are compressed only once.
    body = _gzip("<urlset>") + _gzip(entry * 1_000) * (ENTRIES // 1_000) + _gzip("</urlset>")
    return Answer(200, body, "application/gzip")


def _entities(visit: Visit) -> Answer:
    external = '<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY l0 "laugh">'
    doctype = f"<!DOCTYPE urlset [{external}{_ENTITIES}]>"
    place = f"{visit.origin(visit.host)}/private/"
    return _xml(f"{doctype}<urlset>{_entry(f'{place}&file;')}{_entry(f'{place}&l9;')}</urlset>")


def _external_dtd(visit: Visit) -> Answer:
    origin = visit.origin(visit.host)
    parameter = f'<!ENTITY % all SYSTEM "{origin}{DTD}parameter.dtd"> %all;'
    doctype = f'<!DOCTYPE urlset SYSTEM "{origin}{DTD}urlset.dtd" [{parameter}]>'
    return _xml(f"{doctype}<urlset>{_entry(f'{origin}/private/&more;')}</urlset>")


def _sloppy(visit: Visit) -> Answer:
    """A bare ampersand, an HTML entity, a control character and a URL of three megabytes; then a page."""
    origin = visit.origin(visit.host)
    paths = (f"{SLOPPY}?utm_source=a\x0b&utm_medium=b&nbsp;c", f"/{'x' * 3_000_000}", AFTER)
    return _xml(f"<urlset>{''.join(_entry(origin + path) for path in paths)}</urlset>")


def _entry(url: str) -> str:
    return f"<url><loc>{url}</loc></url>"


def _gzip(text: str) -> bytes:
    return gzip.compress(text.encode(), 6, mtime=0)


def _xml(text: str) -> Answer:
    return Answer(200, f'<?xml version="1.0"?>{text}'.encode(), "application/xml")
