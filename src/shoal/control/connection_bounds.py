"""How many connections a process has in each of their states, in all and for each client address.

What a client can open without end (connections without a whole request, answers that nobody reads) gives way: the
oldest is closed for a newcomer. Requests do not: one too many is refused.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

OTHER_FILES = 512
"""For everything but clients: databases, Redis, logs, segments of archives."""
_MOST_FILES = 1 << 16


@dataclass(frozen=True, slots=True)
class Bound:
    total: int
    per_address: int

    def scaled(self, share: float) -> Bound:
        return Bound(max(8, int(self.total * share)), max(4, int(self.per_address * share)))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one process."""

    waiting: Bound = Bound(1_000, 100)
    """Connections without a whole head: new ones, kept ones, unfinished ones."""
    requests: Bound = Bound(500, 100)
    """Requests that are being answered, or wait for a thread."""
    health: Bound = Bound(200, 20)
    """Requests for /livez and /readyz."""
    sending: Bound = Bound(300, 50)
    """Answers whose clients have not taken all of them yet."""
    ending: Bound = Bound(200, 50)
    """Connections that are answered for the last time, and whose clients have not closed them yet."""

    @property
    def files(self) -> int:
        states = (self.waiting, self.requests, self.health, self.sending, self.ending)
        return sum(bound.total for bound in states)

    def within(self, files: int) -> Bounds:
        """Fewer of all, if a process may have only so many files open."""
        share = min(1.0, max(0, files - OTHER_FILES) / self.files)
        if share == 1:
            return self
        return Bounds(*(getattr(self, name).scaled(share) for name in self.__dataclass_fields__))


class HasAddress(Protocol):
    address: str | None
    """None: only the total bounds it."""


C = TypeVar("C", bound=HasAddress)


class ConnectionSet(Generic[C]):
    """Connections in one state, the oldest first."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._all: dict[C, None] = {}
        self._by_address: dict[str, dict[C, None]] = {}

    def __iter__(self) -> Iterator[C]:
        """Over those of now: they may be discarded meanwhile."""
        return iter(list(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, connection: C) -> bool:
        return connection in self._all

    def add(self, connection: C) -> None:
        self._all[connection] = None
        if connection.address is not None:
            self._by_address.setdefault(connection.address, {})[connection] = None

    def discard(self, connection: C) -> None:
        self._all.pop(connection, None)
        address = connection.address
        if address is not None and (same := self._by_address.get(address)) is not None:
            same.pop(connection, None)
            if not same:
                del self._by_address[address]

    def has_room_for(self, address: str | None) -> bool:
        return self._crowd(address) is None

    def oldest_in_the_way(self, address: str | None) -> C | None:
        """The one to be closed, so that there is room for another of this address; None: there is room."""
        crowd = self._crowd(address)
        return None if crowd is None else next(iter(crowd))

    def oldest(self) -> C | None:
        return next(iter(self._all), None)

    def _crowd(self, address: str | None) -> dict[C, None] | None:
        same = {} if address is None else self._by_address.get(address, {})
        if len(same) >= self._bound.per_address:
            return same
        return self._all if len(self._all) >= self._bound.total else None


def raise_file_limit(wanted: int) -> int:
    """How many files this process may have open, after asking the system for as many as are wanted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_MOST_FILES if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    if soft < wanted:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return soft
