"""A site without end: every page is made when it is asked for, from its number, with 72 links and about 22 KB.

It is served by a thread of this process, whose processor time is in nobody's figures. It remembers how often each page
was fetched.
"""

from __future__ import annotations

import asyncio
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import uvloop

from benchmarks.links_site import ANYWHERE, CHILDREN, LINKS, MENU, NEIGHBOURS, compose
from benchmarks.measure import CannotMeasure

TEXTS = 97
"""Different ones: a page has that of its number, modulo this."""
POLL_S = 0.001
QUIET_S = 0.1
_HREF = "/%06d.html"
_ASKED = re.compile(rb"GET /(\d+)\.html HTTP/1\.1\r\n")
_HEAD = b"HTTP/1.1 %d %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"

Links = Callable[[int], Sequence[int]]
"""The numbers that a page's 72 links lead to."""


class GrowthSite:
    def __init__(self, links: Links, port: int) -> None:
        self.front_page = f"http://127.0.0.1:{port}{_HREF % 0}"
        self.fetched: Counter[int] = Counter()
        self.served = 0
        self._links = links
        self._texts = [_text(random.Random(number)) for number in range(TEXTS)]

    def answer(self, request: bytes) -> bytes:
        asked = _ASKED.match(request)
        if asked is None:
            return _HEAD % (404, b"Not Found", 0)
        number = int(asked[1])
        self.served += 1
        self.fetched[number] += 1
        links = self._links(number)
        body = self._texts[number % TEXTS] % (number, number, *links[:MENU], number, *links[MENU:])
        return _HEAD % (200, b"OK", len(body)) + body

    def wait_until(self, served: int, still: Callable[[], bool], limit_s: float) -> float:
        """The moment that many were served, while `still` holds."""
        deadline = time.monotonic() + limit_s
        while self.served < served:
            if time.monotonic() > deadline or not still():
                raise CannotMeasure(f"the crawl fetched only {self.served:,} pages instead of {served:,}")
            time.sleep(POLL_S)
        return time.monotonic()

    def wait_until_quiet(self) -> None:
        """What a killed crawler had asked for is still answered; nothing of that must be taken for the next one's."""
        served = -1
        while served != self.served:
            served = self.served
            time.sleep(QUIET_S)


@contextmanager
def serving(links: Links) -> Iterator[GrowthSite]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    site = GrowthSite(links, listener.getsockname()[1])
    loop = uvloop.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: _Connection(site), sock=listener))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


class _Connection(asyncio.Protocol):
    def __init__(self, site: GrowthSite) -> None:
        self._site = site
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for request in requests:
            self._transport.write(self._site.answer(request))


def _text(chance: random.Random) -> bytes:
    """A page with gaps for its links, and for its number: two in its head, one below the menu."""
    gaps = ([_HREF] * count for count in (MENU, CHILDREN + ANYWHERE, NEIGHBOURS))
    return compose(chance, "%d", *gaps).encode("ascii")


def neighbourly(number: int, known: int) -> list[int]:
    """Links that repeat locally: a menu, the neighbours, and others nearby."""
    first = number - number % NEIGHBOURS
    near = random.Random(number).random
    reach = min(1000, known)
    return [
        *range(1, MENU + 1),
        *((number + int(near() * reach)) % known for _ in range(CHILDREN + ANYWHERE)),
        *((first + step) % known for step in range(NEIGHBOURS)),
    ]


def anywhere(number: int, known: int) -> list[int]:
    """Links that lead to any page known, each as likely."""
    chance = random.Random(number).random
    return [int(chance() * known) for _ in range(LINKS)]
