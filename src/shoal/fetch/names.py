"""The addresses behind host names, each looked up in a thread of its own.

libcurl has twenty threads for that and uses two for a name: ten names whose servers do not answer would keep all others
waiting, until they time out as well. So it is told the addresses, and looks up only what is not for servers at all.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress

from shoal.urls.identity import is_address, split_port

KNOWN_S = 60.0
"""How long a name is not looked up again; libcurl has to remember it for longer, lest it do so itself."""
MOST_KNOWN = 10_000
MOST_LOOKUPS = 500
"""At a time, with those that nobody waits for any more."""

_PORTS = {"http:": ":80", "https:": ":443"}
# RFC 6761 and 7686, which libcurl keeps to.
_NOT_FOR_SERVERS = (".localhost", ".onion")


class Names:
    """Belongs to the event loop of its first lookup."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, list[str]]] = {}
        """name:port -> until when, and its addresses."""
        self._unknown: dict[str, float] = {}
        """The same of names that were not found, for `addresses` only."""
        self._news: dict[str, str] = {}
        """What libcurl has not been told yet."""
        self._lookups: dict[str, asyncio.Task[list[str]]] = {}
        self._room = asyncio.Semaphore(MOST_LOOKUPS)

    def knows(self, place: str) -> bool:
        """One that was found once goes on to be known, and is looked up again beside its requests: they need no name
        while they have a connection, and a name server that is away for a while."""
        known = self._known.get(place)
        if known is None:
            return False
        if known[0] < time.monotonic() and place not in self._lookups:
            self._begin(place)
        return True

    def news(self, place: str) -> str | None:
        """What to tell libcurl, once."""
        return self._news.pop(place, None)

    async def look_up(self, place: str, within_s: float) -> bool:
        """Whether there is such a name; raises TimeoutError."""
        lookup = self._lookups.get(place) or self._begin(place)
        async with asyncio.timeout(within_s):
            # Others may wait for the same, whoever gives up.
            return bool(await asyncio.shield(lookup))

    async def addresses(self, place: str, within_s: float) -> list[str]:
        """Those that the name has here: none if there is no such name, or nobody answers for it in time."""
        if not self.knows(place) and self._unknown.get(place, 0.0) < time.monotonic():
            if len(self._unknown) >= MOST_KNOWN:
                self._unknown.clear()
            with suppress(TimeoutError):
                await self.look_up(place, within_s)
            self._unknown[place] = time.monotonic() + KNOWN_S
        return self._known[place][1] if place in self._known else []

    def forget(self, place: str) -> None:
        """It could not be reached, and may have moved."""
        self._known.pop(place, None)

    async def aclose(self) -> None:
        lookups = list(self._lookups.values())
        for lookup in lookups:
            lookup.cancel()
        await asyncio.gather(*lookups, return_exceptions=True)

    def _begin(self, place: str) -> asyncio.Task[list[str]]:
        lookup = self._lookups[place] = asyncio.create_task(self._addresses(place))
        lookup.add_done_callback(lambda _: self._lookups.pop(place))
        return lookup

    async def _addresses(self, place: str) -> list[str]:
        loop = asyncio.get_running_loop()
        async with self._room:
            found: asyncio.Future[list[str]] = loop.create_future()
            # Not of a pool: those are waited for when the process ends.
            thread = threading.Thread(target=_resolve, args=(place, loop, found), daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # As many as the machine allows run already.
                return []
            addresses = await found
        if addresses:
            self._learn(place, addresses)
        return addresses

    def _learn(self, place: str, addresses: list[str]) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
            self._news.clear()
        self._known[place] = time.monotonic() + KNOWN_S, [address.strip("[]") for address in addresses]
        self._news[place] = f"+{place}:{','.join(addresses)}"


def place_of(url: str) -> str | None:
    """`name:port` of its host; None if that is an address, or a name that is not for servers."""
    scheme, _, authority = url.split("/", 3)[:3]
    if scheme not in _PORTS:
        return None
    name, port = split_port(authority)
    if is_address(name) or name == "localhost" or name.endswith(_NOT_FOR_SERVERS):
        return None
    return name + (port or _PORTS[scheme])


def _resolve(place: str, loop: asyncio.AbstractEventLoop, found: asyncio.Future[list[str]]) -> None:
    name, port = split_port(place)
    try:
        answers = socket.getaddrinfo(name, int(port[1:]), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        answers = []
    hosts = [str(where[0]) for *_, where in answers]
    addresses = [f"[{host}]" if ":" in host else host for host in hosts if "%" not in host]
    with suppress(RuntimeError):
        # Unless the loop was closed meanwhile.
        loop.call_soon_threadsafe(_settle, found, addresses)


def _settle(found: asyncio.Future[list[str]], addresses: list[str]) -> None:
    if not found.done():
        found.set_result(addresses)
