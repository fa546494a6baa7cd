"""Limits the connections of a process in each state, in total and per client address.

Clients can open idle or unfinished connections, or leave responses unread, without end; at the limit the oldest of
these is closed for a new one. Requests are not closed: at their limit a new one is refused.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

OTHER_FILES = 512
"""Files for everything but clients: databases, Redis, logs, archive segments."""
_MOST_FILES = 1 << 16


@dataclass(frozen=True, slots=True)
class ConnectionLimit:
    total: int
    per_address: int

    def scaled(self, share: float) -> ConnectionLimit:
        return ConnectionLimit(max(8, int(self.total * share)), max(4, int(self.per_address * share)))


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one process."""

    waiting: ConnectionLimit = ConnectionLimit(1_000, 100)
    """Connections without a complete request head: new, kept alive, or unfinished."""
    requests: ConnectionLimit = ConnectionLimit(500, 100)
    """Requests that are being answered, or wait for a thread."""
    health: ConnectionLimit = ConnectionLimit(200, 20)
    """Requests for /livez and /readyz."""
    sending: ConnectionLimit = ConnectionLimit(300, 50)
    """Responses that their clients have not read completely."""
    ending: ConnectionLimit = ConnectionLimit(200, 50)
    """Connections after their last response, which the client has not closed yet."""

    @property
    def files(self) -> int:
        states = (self.waiting, self.requests, self.health, self.sending, self.ending)
        return sum(bound.total for bound in states)

    def within(self, files: int) -> ConnectionLimits:
        """Scales all limits down if the process may open only this many files."""
        share = min(1.0, max(0, files - OTHER_FILES) / self.files)
        if share == 1:
            return self
        return ConnectionLimits(*(getattr(self, name).scaled(share) for name in self.__dataclass_fields__))


class HasAddress(Protocol):
    address: str | None
    """None: only the total limit applies."""


C = TypeVar("C", bound=HasAddress)


class ConnectionSet(Generic[C]):
    """Connections in one state, the oldest first."""

    def __init__(self, bound: ConnectionLimit) -> None:
        self._bound = bound
        self._all: dict[C, None] = {}
        self._by_address: dict[str, dict[C, None]] = {}

    def __iter__(self) -> Iterator[C]:
        """Iterates over a copy: connections may be discarded meanwhile."""
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
        return self._full_group(address) is None

    def oldest_in_the_way(self, address: str | None) -> C | None:
        """The connection to close to make room for this address; None: there is room."""
        group = self._full_group(address)
        return None if group is None else next(iter(group))

    def oldest(self) -> C | None:
        return next(iter(self._all), None)

    def _full_group(self, address: str | None) -> dict[C, None] | None:
        same = {} if address is None else self._by_address.get(address, {})
        if len(same) >= self._bound.per_address:
            return same
        return self._all if len(self._all) >= self._bound.total else None


def raise_file_limit(wanted: int) -> int:
    """Raises the limit of open files towards `wanted`, and returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_MOST_FILES if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    if soft < wanted:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return soft
