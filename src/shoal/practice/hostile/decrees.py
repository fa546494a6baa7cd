"""What a hostile site tells programs in its robots.txt: too much, something else, not now, or to keep away for ever."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable, Mapping

from shoal.practice.hostile.framing import NEVER_S
from shoal.practice.hostile.never import NEVER
from shoal.practice.visit import PLAIN, Answer, Site, Visit, redirect

ROBOTS = "/robots.txt"
ROBOTS_BYTES = 1_000_000_000
READ_BYTES = 512_000
"""As much as a visitor must read of it."""
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
    """What stands behind the part that is read forbids all."""
    line = b"Disallow: /no/%s\n" % (b"x" * 1_000)
    piece = b"Disallow: /\n" * 4_096
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % ROBOTS_BYTES
    begun = _RULES + line * (READ_BYTES // len(line) + 1)
    return Answer(200, b"", raw=itertools.chain([head, begun], itertools.repeat(piece, ROBOTS_BYTES // len(piece))))


def many_rules(visit: Visit) -> Answer:
    """Each of which a visitor may have to try for each path."""
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
    """Packed, and not all of it there: what is missing may forbid anything."""
    whole = gzip.compress(_RULES + b"Disallow: /good/\n" * 100, mtime=0)
    return Answer(200, whole[: len(whole) // 2], PLAIN, {"Content-Encoding": "gzip"})


def no_robots(visit: Visit) -> Answer:
    """Whoever asks is hung up on."""
    return Answer(200, b"", raw=())


def silent_robots(visit: Visit) -> Answer:
    return Answer(200, b"", PLAIN, delay_s=NEVER_S)


def delaying_robots(delay: str) -> Site:
    return lambda visit: Answer(200, b"User-agent: *\nCrawl-delay: %s\n" % delay.encode(), PLAIN)
