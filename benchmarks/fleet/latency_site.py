"""Sites that are far away: many hosts at one port, each of which takes its time to answer, and a log of what they saw.

Served by a thread of this process, whose processor time is in nobody's figures. A page is small and has no links.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, cast

import uvloop

from benchmarks.servers import free_port

_ASKED = re.compile(rb"GET /(\S*) HTTP/1\.1\r\n")
_BODY = b"<!doctype html><title>%b</title><p>A page of this name.</p>"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"


class Seen(NamedTuple):
    at: float
    """When the answer was sent, as `time.time` tells."""
    name: str


class LatencySite:
    def __init__(self, latencies_s: Mapping[str, float], port: int) -> None:
        self.port = port
        self.latencies_s = latencies_s
        self.log: list[Seen] = []

    def urls(self, hosts: list[str], count: int, kind: str) -> Iterator[str]:
        """To these hosts in turn; `kind` begins the name of each page."""
        for number in range(count):
            yield f"http://{hosts[number % len(hosts)]}:{self.port}/{kind}-{number}"

    def seen(self, kind: str) -> list[float]:
        """When pages of this kind were answered."""
        return [seen.at for seen in list(self.log) if seen.name.startswith(f"{kind}-")]


def hosts(network: int, count: int) -> list[str]:
    """Loopback addresses of 127.<network>.0.0."""
    return [f"127.{network}.{number // 250}.{number % 250 + 1}" for number in range(count)]


@contextmanager
def far_away(latencies_s: Mapping[str, float]) -> Iterator[LatencySite]:
    """By host."""
    site, loop = LatencySite(latencies_s, free_port()), uvloop.new_event_loop()
    # Each address by itself: a wildcard would be open to the network.
    server = loop.run_until_complete(
        loop.create_server(lambda: _Connection(site, loop), list(latencies_s), site.port, backlog=1024)
    )
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
    def __init__(self, site: LatencySite, loop: asyncio.AbstractEventLoop) -> None:
        self._site = site
        self._loop = loop
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._latency_s = self._site.latencies_s[transport.get_extra_info("sockname")[0]]

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for request in requests:
            self._loop.call_later(self._latency_s, self._answer, request)

    def _answer(self, request: bytes) -> None:
        asked = _ASKED.match(request)
        name = asked[1] if asked else b""
        self._site.log.append(Seen(time.time(), name.decode()))
        if not self._transport.is_closing():
            body = _BODY % name
            self._transport.write(_HEAD % len(body) + body)
