"""A hostile site's robots.txt: huge, not a robots.txt, unavailable, or one that forbids everything."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable, Mapping

from shoal.practice.hostile.bad_http import NEVER_S
from shoal.practice.hostile.metadata_addresses import NEVER
from shoal.practice.request import PLAIN, Answer, Site, Visit, redirect

ROBOTS = "/robots.txt"
ROBOTS_BYTES = 1_000_000_000
READ_BYTES = 512_000
"""How much of it a visitor must read."""
ROBOTS_HOPS, FOLLOWED_HOPS = 12, 5
RULES = 20_000
_RULES = b"User-agent: *\nDisallow: /private/\n"


def plain_robots(visit: Visit) -> Answer:
    return Answer(200, _RULES, PLAIN)


def robots_with(sitemaps: Iterable[str]) -> Site:
    def robots(visit: Visit) -> Answer:
        lines = "".join(f"Sitemap: {visit.origin(visit.host)}{path}\n" for path in sitemaps)
        return Answer(200, _RULES + lines.encode(), PLAIN)

    return robots


def huge_robots(visit: Visit) -> Answer:
    """The part beyond what is read forbids everything."""
    line = b"Disallow: /no/%s\n" % (b"x" * 1_000)
    piece = b"Disallow: /\n" * 4_096
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % ROBOTS_BYTES
    begun = _RULES + line * (READ_BYTES // len(line) + 1)
    return Answer(200, b"", raw=itertools.chain([head, begun], itertools.repeat(piece, ROBOTS_BYTES // len(piece))))


def many_rules(visit: Visit) -> Answer:
    """Rules that a visitor may have to match against each path."""
    rules = "".join(f"Disallow: /*a*b*c*{number}$\n" for number in range(RULES))
    return Answer(200, _RULES + rules.encode(), PLAIN)


def page_for_robots(visit: Visit) -> Answer:
    return Answer(200, b"<!doctype html><title>Oops</title><pre>\nUser-agent: *\nDisallow: /\n</pre>")


def moved_robots(hops: int) -> Mapping[str, Site]:
    paths = (ROBOTS, *(f"/robots-{number}.txt" for number in range(hops)))
    moves = {here: redirect(301, there) for here, there in itertools.pairwise(paths)}
    return {**moves, paths[-1]: plain_robots}


def robots_at_never() -> Site:
    return redirect(302, f"http://{NEVER}/robots.txt")


def failing_robots(status: int) -> Site:
    return lambda visit: Answer(status, b"not now\n", PLAIN)


def torn_robots(visit: Visit) -> Answer:
    """Truncated gzip: the missing part may forbid anything."""
    complete = gzip.compress(_RULES + b"Disallow: /good/\n" * 100, mtime=0)
    return Answer(200, complete[: len(complete) // 2], PLAIN, {"Content-Encoding": "gzip"})


def no_robots(visit: Visit) -> Answer:
    """Closes the connection without a response."""
    return Answer(200, b"", raw=())


def silent_robots(visit: Visit) -> Answer:
    return Answer(200, b"", PLAIN, delay_s=NEVER_S)


def delaying_robots(delay: str) -> Site:
    return lambda visit: Answer(200, b"User-agent: *\nCrawl-delay: %s\n" % delay.encode(), PLAIN)
