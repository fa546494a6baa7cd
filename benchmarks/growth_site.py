"""An endless site: makes every page on request from its number, with 72 links and about 22 KB.

A thread of this process serves it, so its processor time is in no contender's figures. It counts how often each page
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
"""The number of different texts: page n has text n modulo this."""
POLL_S = 0.001
QUIET_S = 0.1
_HREF = "/%06d.html"
_REQUEST = re.compile(rb"GET /(\d+)\.html HTTP/1\.1\r\n")
_HEAD = b"HTTP/1.1 %d %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"

Links = Callable[[int], Sequence[int]]
"""The page numbers of a page's 72 links."""


class GrowthSite:
    def __init__(self, links: Links, port: int) -> None:
        self.front_page = f"http://127.0.0.1:{port}{_HREF % 0}"
        self.fetched: Counter[int] = Counter()
        self.served = 0
        self._links = links
        self._texts = [_text(random.Random(number)) for number in range(TEXTS)]

    def answer(self, request: bytes) -> bytes:
        found = _REQUEST.match(request)
        if found is None:
            return _HEAD % (404, b"Not Found", 0)
        number = int(found[1])
        self.served += 1
        self.fetched[number] += 1
        links = self._links(number)
        body = self._texts[number % TEXTS] % (number, number, *links[:MENU], number, *links[MENU:])
        return _HEAD % (200, b"OK", len(body)) + body

    def wait_until(self, served: int, still: Callable[[], bool], limit_s: float) -> float:
        """The time when so many pages had been served; fails if `still` becomes false first."""
        deadline = time.monotonic() + limit_s
        while self.served < served:
            if time.monotonic() > deadline or not still():
                raise CannotMeasure(f"the crawl fetched only {self.served:,} pages instead of {served:,}")
            time.sleep(POLL_S)
        return time.monotonic()

    def wait_until_quiet(self) -> None:
        """Waits until the requests of a killed crawler are answered, so that they do not count for the next one."""
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
    """A page with placeholders for its links and its number: two in its head, one below the menu."""
    gaps = ([_HREF] * count for count in (MENU, CHILDREN + ANYWHERE, NEIGHBOURS))
    return compose(chance, "%d", *gaps).encode("ascii")


def neighbourly(number: int, known: int) -> list[int]:
    """Links that repeat locally: a menu, the neighbours, and other pages nearby."""
    first = number - number % NEIGHBOURS
    near = random.Random(number).random
    reach = min(1000, known)
    return [
        *range(1, MENU + 1),
        *((number + int(near() * reach)) % known for _ in range(CHILDREN + ANYWHERE)),
        *((first + step) % known for step in range(NEIGHBOURS)),
    ]


def anywhere(number: int, known: int) -> list[int]:
    """Links to any known page, each equally likely."""
    chance = random.Random(number).random
    return [int(chance() * known) for _ in range(LINKS)]
