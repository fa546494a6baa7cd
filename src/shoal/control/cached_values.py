"""Values that many people look at, kept for some seconds so that they are read once for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from shoal.jobs.overview_cache import COUNTED_SHARE, PATIENCE_S

T = TypeVar("T")
OWNERS_REMEMBERED = 100


@dataclass
class Cached(Generic[T]):
    """The last value, for some seconds."""

    read: Callable[[], T]
    kept_s: float
    _value: T | None = None
    _until: float = 0.0

    def get(self) -> T:
        now = time.monotonic()
        if self._value is None or now >= self._until:
            self._value, self._until = self.read(), now + self.kept_s
        return self._value


class CachedByOwner(Generic[T]):
    """What the jobs of a token show, for some seconds; None: of all jobs."""

    def __init__(self, read: Callable[[str | None], T], kept_s: float) -> None:
        self._read = read
        self._kept_s = kept_s
        self._known: dict[str | None, Cached[T]] = {}

    def get(self, owner: str | None) -> T:
        known = self._known.get(owner)
        if known is None:
            if len(self._known) >= OWNERS_REMEMBERED:
                self._known.clear()
            known = self._known[owner] = Cached(partial(self._read, owner), self._kept_s)
        return known.get()


class ReadInBackground(Generic[T]):
    """Like CachedByOwner, for what takes long: nobody waits for it. It takes at most COUNTED_SHARE of the time."""

    def __init__(self, read: Callable[[str | None], T], empty: T, kept_s: float, background: Executor) -> None:
        """`empty` is shown until the first value is read."""
        self._read = read
        self._empty = empty
        self._kept_s = kept_s
        self._background = background
        self._known: dict[str | None, tuple[T, float]] = {}
        self._reading: dict[str | None, Future[None]] = {}
        self._lock = threading.Lock()

    def get(self, owner: str | None) -> T:
        _, until = self._known.get(owner, (self._empty, 0.0))
        if time.monotonic() >= until:
            wait([self._start(owner)], PATIENCE_S)
        value, _ = self._known.get(owner, (self._empty, 0.0))
        return value

    def _start(self, owner: str | None) -> Future[None]:
        with self._lock:
            if (running := self._reading.get(owner)) is not None:
                return running
            started = self._reading[owner] = self._background.submit(self._read_now, owner)
        started.add_done_callback(lambda _: self._reading.pop(owner, None))
        return started

    def _read_now(self, owner: str | None) -> None:
        began = time.monotonic()
        value = self._read(owner)
        now = time.monotonic()
        if len(self._known) >= OWNERS_REMEMBERED:
            self._known.clear()
        self._known[owner] = value, now + max(self._kept_s, (now - began) / COUNTED_SHARE)
