"""Resolves host names, each in a thread of its own.

libcurl has twenty threads for this and uses two per name. Ten names whose servers do not answer would block all others,
until those time out as well. So libcurl gets the addresses from here, and resolves only names that are not for servers.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress

from shoal.urls.fingerprint import is_address, split_port

KNOWN_S = 60.0
"""How long a name is not resolved again. libcurl must remember it longer, or it would resolve it itself."""
MOST_KNOWN = 10_000
MOST_LOOKUPS = 500
"""Maximum number of lookups at a time, including those that nobody waits for any more."""

_PORTS = {"http:": ":80", "https:": ":443"}
# RFC 6761 and 7686, which libcurl follows.
_NOT_FOR_SERVERS = (".localhost", ".onion")


class DnsResolver:
    """Belongs to the event loop of its first lookup."""

    def __init__(self, known_s: float = KNOWN_S) -> None:
        self._known_s = known_s
        self._known: dict[str, tuple[float, list[str]]] = {}
        """name:port -> until when it is valid, and its addresses."""
        self._unknown: dict[str, float] = {}
        """name:port of names that were not found -> until when that is valid; for `addresses` only."""
        self._unsent: dict[str, str] = {}
        """Addresses that libcurl has not been told yet."""
        self._lookups: dict[str, asyncio.Task[list[str]]] = {}
        self._room = asyncio.Semaphore(MOST_LOOKUPS)

    def knows(self, place: str) -> bool:
        """A name that was found once stays known, and is resolved again in the background. Requests do not need it
        while they have a connection, or while a name server is away for a moment."""
        known = self._known.get(place)
        if known is None:
            return False
        if known[0] < time.monotonic() and place not in self._lookups:
            self._begin(place)
        return True

    def take_update(self, place: str) -> str | None:
        """What to tell libcurl. Returns it once."""
        return self._unsent.pop(place, None)

    async def look_up(self, place: str, within_s: float) -> bool:
        """Whether the name exists. Raises TimeoutError."""
        lookup = self._lookups.get(place) or self._begin(place)
        async with asyncio.timeout(within_s):
            # Others may wait for the same lookup, even if this caller gives up.
            return bool(await asyncio.shield(lookup))

    async def addresses(self, place: str, within_s: float) -> list[str]:
        """The addresses of the name here. None if the name does not exist, or no server answers in time."""
        if not self.knows(place) and self._unknown.get(place, 0.0) < time.monotonic():
            if len(self._unknown) >= MOST_KNOWN:
                self._unknown.clear()
            with suppress(TimeoutError):
                await self.look_up(place, within_s)
            self._unknown[place] = time.monotonic() + self._known_s
        return self._known[place][1] if place in self._known else []

    def forget(self, place: str) -> None:
        """The host could not be reached, and may have moved."""
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
            # Not from a pool: the process would wait for its threads at exit.
            thread = threading.Thread(target=_resolve, args=(place, loop, found), daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # The machine allows no more threads.
                return []
            addresses = await found
        if addresses:
            self._learn(place, addresses)
        return addresses

    def _learn(self, place: str, addresses: list[str]) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
            self._unsent.clear()
        self._known[place] = time.monotonic() + self._known_s, [address.strip("[]") for address in addresses]
        self._unsent[place] = f"+{place}:{','.join(addresses)}"


def place_of(url: str) -> str | None:
    """`name:port` of the host. None if it is an address, or a name that is not for servers."""
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
