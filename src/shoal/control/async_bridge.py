"""Connects the threads that answer requests with the fleet, whose Redis connections belong to one event loop.

Each process has one bridge: a loop in its own thread, and a store that all threads share. Servers are contacted when
they are first needed, so that the API starts while one is away, and can report it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from flask import current_app

from shoal.errors import HomeError, Unavailable, UsageError
from shoal.fleet.fleet import Fleet
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.settings import Settings
from shoal.store.archive.archive_folders import Archive
from shoal.store.store import Store

NAME = "shoal"
ANSWER_S = 10.0
AWAY_S = 3.0
"""How long a failure to open the database is remembered: otherwise each request would wait for it again."""

T = TypeVar("T")


class Bridge:
    def __init__(self, settings: Settings) -> None:
        """Raises UsageError if the settings name no fleet."""
        self.settings = settings
        self._fleet = Fleet(settings)
        self._at_close: list[Callable[[], None]] = []
        self._opening = threading.Lock()
        self._away, self._away_until = "", 0.0
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._turn, name="bridge", daemon=True).start()

    @property
    def store(self) -> Store:
        return self.fleet.store

    @property
    def archive(self) -> Archive:
        """Other threads may use its `stored` only."""
        return self._fleet.archive

    @property
    def connection(self) -> RedisConnection:
        """The connection to Redis, which works without the database; use it only in `run`."""
        return self.frontier.connection

    @property
    def frontier(self) -> RedisFrontier:
        """Like `connection`."""
        return self._fleet.frontier

    @property
    def fleet(self) -> Fleet:
        """Its store may be used in any thread, everything else only in `run`."""
        with self._opening:
            if time.monotonic() < self._away_until:
                raise Unavailable(self._away)
            try:
                # Opened here under the lock: otherwise two threads could each open one.
                self._fleet.store  # noqa: B018
            except (UsageError, HomeError, Unavailable) as error:
                self._away, self._away_until = str(error), time.monotonic() + AWAY_S
                # Not the caller's fault.
                raise Unavailable(self._away) from error
        return self._fleet

    @property
    def fleet_unopened(self) -> Fleet:
        """Its database may be away."""
        return self._fleet

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float = ANSWER_S) -> T:
        """For quick work only: all calls to Redis wait while it computes or uses the store."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(timeout_s)
        except TooLate:
            running.cancel()
            raise Unavailable(f"the fleet did not answer within {timeout_s:g} s: try again") from None

    def run_apart(self, work: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
        """For slow work: runs in this thread, with its own connections to Redis."""

        async def run() -> T:
            fleet = Fleet(self.settings, self.store)
            try:
                return await work(fleet)
            finally:
                await fleet.close()

        return asyncio.run(run())

    @contextmanager
    def apart(self) -> Iterator[Fleet]:
        """A fleet for work without Redis, with its own archive, whose files no other thread reads."""
        fleet = Fleet(self.settings, self.store)
        try:
            yield fleet
        finally:
            fleet.archive.close()

    def at_close(self, act: Callable[[], None]) -> None:
        """Ends what uses the bridge in a thread of its own: called before anything is closed."""
        self._at_close.append(act)

    def close(self) -> None:
        for act in self._at_close:
            act()
        asyncio.run_coroutine_threadsafe(self._fleet.close(), self._loop).result(ANSWER_S)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _turn(self) -> None:
        self._loop.run_forever()
        self._loop.close()


def bridge() -> Bridge:
    """The bridge of the app that answers the current request."""
    return cast(Bridge, current_app.extensions[NAME])
