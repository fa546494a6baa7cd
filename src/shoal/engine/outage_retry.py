"""Repeats writes that fail because of an outage, until they succeed or the engine stops.

A write that found no disk space or no server has changed nothing, or is safe to repeat. An embedded crawl waits for
disk space and for other crawls in its home, and a missing server ends it. A worker of a fleet waits for all of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from shoal.engine.timed_event import TimedEvent
from shoal.errors import DiskFull, FrontierLost, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

TRY_EVERY_S = 2.0
"""Processes that wait for a server before they have an engine use this too."""
ENOUGH_MB = 16
"""For the message to the operator: what a batch of pages and the logs of both databases take. Nothing checks it."""


class OutageRetry:
    def __init__(self, stopping: TimedEvent, retried_errors: tuple[type[Unavailable], ...] = (DiskFull,)) -> None:
        self._stopping = stopping
        self.retried_errors = retried_errors
        self._waiting = 0
        self._reason = ""

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def waiting_for(self) -> str | None:
        """What the engine waits for, as text for a person. None while writes succeed."""
        return self._reason if self._waiting else None

    async def keep_trying(self, write: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        """Raises `retried_errors` only if the engine is stopping. It does not wait for a frontier that lost a job:
        whether the job returns depends on the job, so the caller must decide."""
        waiting = False
        try:
            while True:
                try:
                    return await write(*args, **named)
                except FrontierLost:
                    raise
                except self.retried_errors as error:
                    if self.is_stopping:
                        raise
                    self._reason = _reason(error)
                # Counted until it succeeds: if a server hangs, each try lasts many seconds.
                self._waiting += not waiting
                waiting = True
                await self.stopped_within(TRY_EVERY_S)
        finally:
            self._waiting -= waiting

    async def wait_for(self, reason: str) -> None:
        """Waits TRY_EVERY_S, and shows the reason meanwhile."""
        self._waiting += 1
        self._reason = reason
        try:
            await self.stopped_within(TRY_EVERY_S)
        finally:
            self._waiting -= 1

    async def stopped_within(self, seconds: float) -> bool:
        """Sleeps for `seconds`. Returns True at once when the engine stops."""
        return await self._stopping.set_within(seconds)


def _reason(error: Unavailable) -> str:
    if isinstance(error, DiskFull):
        return f"disk full at {error.path.parent}, {ENOUGH_MB} MB needed"
    return str(error)
