"""What a hostile site tells programs: robots.txt that is too long, no such file or never there, and wild sitemaps."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping

from shoal.practice.hostile.bombs import sitemap_bomb
from shoal.practice.hostile.framing import NEVER_S
from shoal.practice.truth import HostTruth
from shoal.practice.visit import PLAIN, Answer, Site, Visit, redirect

ROBOTS = "/robots.txt"
ROBOTS_BYTES = 1_000_000_000
ROBOTS_HOPS = 12
ENTRIES = 1_000_000
LISTED = "/good/listed.html"
LISTED_TRUTH = HostTruth(unlinked={LISTED: 200})
"""Of the wild sitemaps: for all their size they tell of one page."""
_RULES = b"User-agent: *\nDisallow: /private/\n"
_ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def plain_robots(visit: Visit) -> Answer:
    return Answer(200, _RULES, PLAIN)


def wild_sitemaps() -> Mapping[str, Site]:
    """With the robots.txt that names them."""
    sites: dict[str, Site] = {
        "/sitemap-itself.xml": _itself,
        "/sitemap-entities.xml": _entities,
        "/sitemap-bomb.xml.gz": sitemap_bomb(),
        "/sitemap-million.xml.gz": _million,
    }

    def robots(visit: Visit) -> Answer:
        lines = "".join(f"Sitemap: {visit.origin(visit.host)}{path}\n" for path in sites)
        return Answer(200, _RULES + lines.encode(), PLAIN)

    return {ROBOTS: robots, **sites}


def huge_robots(visit: Visit) -> Answer:
    line = b"Disallow: /no/%s\n" % (b"x" * 1_000)
    piece = line * 64
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % ROBOTS_BYTES
    return Answer(200, b"", raw=itertools.chain([head, _RULES], itertools.repeat(piece, ROBOTS_BYTES // len(piece))))


def page_for_robots(visit: Visit) -> Answer:
    return Answer(200, b"<!doctype html><title>Oops</title><pre>\nUser-agent: *\nDisallow: /\n</pre>")


def moved_robots() -> Mapping[str, Site]:
    paths = (ROBOTS, *(f"/robots-{number}.txt" for number in range(ROBOTS_HOPS)))
    return {here: redirect(301, there) for here, there in itertools.pairwise(paths)}


def failing_robots(visit: Visit) -> Answer:
    return Answer(503, b"down for maintenance\n", PLAIN)


def silent_robots(visit: Visit) -> Answer:
    return Answer(200, b"", PLAIN, delay_s=NEVER_S)


def _itself(visit: Visit) -> Answer:
    origin = visit.origin(visit.host)
    itself = f"<sitemap><loc>{origin}{visit.path}</loc></sitemap>"
    # An index and a list in one, which readers take for either.
    return _xml(f"<sitemapindex>{itself * 100}<url><loc>{origin}{LISTED}</loc></url></sitemapindex>")


def _million(visit: Visit) -> Answer:
    """All of them the same page: what is tried is the reading."""
    entry = f"<url><loc>{visit.origin(visit.host)}{LISTED}</loc></url>"
    # Members of one file, so that a thousand entries are compressed once.
    body = _gzip("<urlset>") + _gzip(entry * 1_000) * (ENTRIES // 1_000) + _gzip("</urlset>")
    return Answer(200, body, "application/gzip")


def _gzip(text: str) -> bytes:
    return gzip.compress(text.encode(), 6, mtime=0)


def _entities(visit: Visit) -> Answer:
    external = '<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY l0 "laugh">'
    doctype = f"<!DOCTYPE urlset [{external}{_ENTITIES}]>"
    place = f"{visit.origin(visit.host)}/private/"
    return _xml(f"{doctype}<urlset><url><loc>{place}&file;</loc></url><url><loc>{place}&l9;</loc></url></urlset>")


def _xml(text: str) -> Answer:
    return Answer(200, f'<?xml version="1.0"?>{text}'.encode(), "application/xml")
