"""The polite site: nothing on it is broken, but every host makes a request to its visitors: to wait, to come back
later, to stay away, or to send a password and no other host the same. `truth` says what a polite visitor does.
"""

from __future__ import annotations

import base64
import itertools
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import cached_property

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import PLAIN, Answer, Routes, Site, Visit, redirect

ROBOTS = "/robots.txt"
WISHES, DELAYED, SECONDS, DATE, TIRED, LATER, BUSY, NAMED = (f"127.0.0.{number}" for number in range(1, 9))
DELAY_S, WAIT_S, DATE_S = 1.0, 2, 3
USER, PASSWORD, SESSION = "ann", "pebble", "session=oyster"
POLICY = "https://site.example/tdm.json"
VAULT, INSIDE, LEAVING, AWAY, WITNESS = "/vault/", "/vault/inside", "/leaving/", "/leaving/away", "/witness"
NEVER = "/asks/never/"
"""The target of links that a visitor was asked not to follow."""
FOUND = "/asks/found"
_ASKS: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    # In the page's head, in its headers, and in the link itself.
    "meta": ('<meta name="robots" content="nofollow">', {}, ""),
    "meta-ours": ('<meta name="shoal" content="nofollow">', {}, ""),
    "header": ("", {"X-Robots-Tag": "nofollow"}, ""),
    "header-ours": ("", {"X-Robots-Tag": "shoal: nofollow"}, ""),
    "none": ("", {"X-Robots-Tag": "none"}, ""),
    "link": ("", {}, 'rel="ugc nofollow"'),
    "noindex": ('<meta name="robots" content="noindex, nofollow">', {}, ""),
}
UNKEPT = tuple(f"/asks/{name}" for name in ("none", "noindex"))
RESERVED = "/asks/reserved"
_OTHERS = "/asks/others"


class PoliteSite:
    """One host per request. Some are busy at first and count their visits, so each crawl needs its own site."""

    addresses = (WISHES, DELAYED, SECONDS, DATE, TIRED, LATER, BUSY, NAMED)

    def answer(self, visit: Visit) -> Answer:
        return self._routes[visit.host].answer(visit)

    def truth(self) -> dict[str, ExpectedResults]:
        """By address, for a visitor that comes back at most twice."""
        wishes = ("/", *(f"/asks/{name}" for name in _ASKS), RESERVED, _OTHERS, FOUND)
        skipped = {f"{NEVER}{name}": "nofollow" for name in _ASKS}
        both, front = _pages("/", "/more"), _pages("/")
        forbidding = ExpectedResults(pages=both, dropped={"/private": "robots"})
        return {
            WISHES: ExpectedResults(pages=_pages(*wishes), skipped=skipped),
            DELAYED: ExpectedResults(pages=both),
            SECONDS: ExpectedResults(pages=front),
            DATE: ExpectedResults(pages=front),
            TIRED: ExpectedResults(dead={"/": 503}),
            LATER: forbidding,
            BUSY: forbidding,
            NAMED: forbidding,
        }

    @cached_property
    def _routes(self) -> dict[str, Routes]:
        front, more = _page("/more", "/private"), _page()
        rules = b"User-agent: *\nDisallow: /private\n"
        named = b"User-agent: *\nDisallow: /\n\nUser-agent: Shoal\nDisallow: /private\n"
        tables: dict[str, dict[str, Site]] = {
            WISHES: _wishes(self.addresses[1:]),
            DELAYED: {ROBOTS: _text(b"User-agent: *\nCrawl-delay: %g\n" % DELAY_S), "/": _page("/more"), "/more": more},
            SECONDS: {"/": _after_first(more, _busy(429, lambda: str(WAIT_S)))},
            DATE: {"/": _after_first(more, _busy(503, lambda: formatdate(time.time() + DATE_S, usegmt=True)))},
            TIRED: {"/": lambda visit: Answer(503, b"")},
            LATER: {ROBOTS: _after_first(_text(rules), _failing(503)), "/": front, "/more": more},
            BUSY: {ROBOTS: _after_first(_text(rules), _failing(429)), "/": front, "/more": more},
            NAMED: {ROBOTS: _text(named), "/": front, "/more": more, WITNESS: _witness},
        }
        return {host: Routes(table) for host, table in tables.items()}


def _wishes(others: tuple[str, ...]) -> dict[str, Site]:
    def front(visit: Visit) -> Answer:
        return _linking(*asks, RESERVED, _OTHERS, *(f"{visit.origin(host)}/" for host in others))

    asks = {f"/asks/{name}": _asking(name, *asked) for name, asked in _ASKS.items()}
    reserved = {"TDM-Reservation": "1", "TDM-Policy": POLICY}
    pages: dict[str, Site] = {
        RESERVED: _page(headers=reserved),
        _OTHERS: _page(FOUND, headers={"X-Robots-Tag": "googlebot: none"}),
        FOUND: _page(),
        VAULT: _vault,
        INSIDE: _inside,
        LEAVING: _page(AWAY),
        AWAY: lambda visit: redirect(302, visit.origin(NAMED) + WITNESS)(visit),
    }
    return {"/": front, **asks, **pages, f"{NEVER}*": _page()}


def _asking(name: str, head: str, headers: Mapping[str, str], rel: str) -> Site:
    page = f'<!doctype html>{head}<title>{name}</title><p>words <a {rel} href="{NEVER}{name}">on</a>'
    return lambda visit: Answer(200, page.encode(), headers=headers)


def _vault(visit: Visit) -> Answer:
    if not _is_known(visit):
        return Answer(401, b"", headers={"WWW-Authenticate": 'Basic realm="vault"'})
    return _linking(INSIDE, AWAY)._replace(headers={"Set-Cookie": f"{SESSION}; Path=/"})


def _inside(visit: Visit) -> Answer:
    """Requires both the password and the session."""
    known = _is_known(visit) and visit.headers.get("cookie") == SESSION
    return _linking() if known else Answer(403, b"")


def _witness(visit: Visit) -> Answer:
    """Another host, which must not receive any secret."""
    leaked = visit.headers.keys() & {"authorization", "cookie", "referer", "x-key"}
    return Answer(409, ", ".join(leaked).encode(), PLAIN) if leaked else _linking()


def _is_known(visit: Visit) -> bool:
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    # Refuses a visitor that leaks the password in another header.
    return visit.headers.get("authorization") == f"Basic {basic}" and PASSWORD not in visit.headers.get("referer", "")


def _after_first(answer: Site, first: Site) -> Site:
    """Another site answers the first visit."""
    answers = itertools.chain([first], itertools.repeat(answer))
    return lambda visit: next(answers)(visit)


def _busy(status: int, retry_after: Callable[[], str]) -> Site:
    return lambda visit: Answer(status, b"", headers={"Retry-After": retry_after()})


def _failing(status: int) -> Site:
    return lambda visit: Answer(status, b"not now\n", PLAIN)


def _text(body: bytes) -> Site:
    return lambda visit: Answer(200, body, PLAIN)


def _page(*hrefs: str, headers: Mapping[str, str] = {}) -> Site:
    return lambda visit: _linking(*hrefs)._replace(headers=headers)


def _linking(*hrefs: str) -> Answer:
    links = "".join(f'<a href="{href}">on</a>\n' for href in hrefs)
    return Answer(200, f"<!doctype html><title>Welcome</title><p>words {links}".encode())


def _pages(*paths: str) -> dict[str, int]:
    return dict.fromkeys(paths, 200)
