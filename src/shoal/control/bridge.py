"""From the threads that answer requests to the fleet, whose connections to Redis belong to one event loop.

There is one per process: a loop in a thread of its own, and a store that all threads share. No server is asked before
it is needed, so that the API starts, and says what is missing, while one is away.
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
from shoal.fleet.place import Fleet
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.connection import Connection
from shoal.settings import Settings
from shoal.store.store import Store

NAME = "shoal"
ANSWER_S = 10.0
AWAY_S = 3.0
"""A database that could not be opened is not tried again for so long: each request would wait for it in turn."""

T = TypeVar("T")


class Bridge:
    def __init__(self, settings: Settings) -> None:
        """Raises UsageError if the settings name no fleet."""
        self.settings = settings
        self._fleet = Fleet(settings)
        self._opening = threading.Lock()
        self._away, self._away_until = "", 0.0
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._turn, name="bridge", daemon=True).start()

    @property
    def store(self) -> Store:
        return self.fleet.store

    @property
    def connection(self) -> Connection:
        """To Redis, whether or not there is a database; only for `run`."""
        return self.frontier.connection

    @property
    def frontier(self) -> RedisFrontier:
        """Likewise."""
        return self._fleet.frontier

    @property
    def fleet(self) -> Fleet:
        """Its store may be used in any thread, all else of it only in `run`."""
        with self._opening:
            if time.monotonic() < self._away_until:
                raise Unavailable(self._away)
            try:
                # Opened here, once: on first use two threads would each open one.
                self._fleet.store  # noqa: B018
            except (UsageError, HomeError, Unavailable) as error:
                self._away, self._away_until = str(error), time.monotonic() + AWAY_S
                # Not the caller's fault.
                raise Unavailable(self._away) from error
        return self._fleet

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float = ANSWER_S) -> T:
        """For what is quick: everybody's calls to Redis wait while it computes or asks the store."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(timeout_s)
        except TooLate:
            running.cancel()
            raise Unavailable(f"the fleet did not answer within {timeout_s:g} s: try again") from None

    def run_apart(self, work: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
        """For what may take long: in this thread, with connections to Redis of its own."""

        async def run() -> T:
            fleet = Fleet(self.settings, self.store)
            try:
                return await work(fleet)
            finally:
                await fleet.close()

        return asyncio.run(run())

    @contextmanager
    def apart(self) -> Iterator[Fleet]:
        """For what asks nothing of Redis: an archive of its own, whose files no other thread reads."""
        fleet = Fleet(self.settings, self.store)
        try:
            yield fleet
        finally:
            fleet.archive.close()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._fleet.close(), self._loop).result(ANSWER_S)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _turn(self) -> None:
        self._loop.run_forever()
        self._loop.close()


def bridge() -> Bridge:
    """That of the app which answers the current request."""
    return cast(Bridge, current_app.extensions[NAME])
