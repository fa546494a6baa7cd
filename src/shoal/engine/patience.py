"""Waits out what keeps writes from succeeding: what failed is tried again until it does not, or until the engine stops.

A write that found no room or no server has changed nothing, or takes a repetition without harm, so it can be made
anew. Embedded, a full disk is waited out and a missing server ends the run; on a fleet both are waited out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from shoal.errors import DiskFull, FrontierLost, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

TRY_EVERY_S = 2.0
"""Also of those who wait for a server before there is an engine."""
ENOUGH_MB = 16
"""Told to the operator: what a batch of pages and both databases' logs take, not a bound that is looked at."""


class Patience:
    def __init__(self, stopping: asyncio.Event, waits_out: tuple[type[Unavailable], ...] = (DiskFull,)) -> None:
        self._stopping = stopping
        self.waits_out = waits_out
        self._waiting = 0
        self._reason = ""

    @property
    def is_over(self) -> bool:
        return self._stopping.is_set()

    @property
    def waiting_for(self) -> str | None:
        """In words, what everything waits for; None while writes succeed."""
        return self._reason if self._waiting else None

    async def insist(self, write: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        """Raises what it waits out only if the engine is stopping. A frontier that lost a job is the caller's matter:
        whether that comes back depends on the job."""
        waiting = False
        try:
            while True:
                try:
                    return await write(*args, **named)
                except FrontierLost:
                    raise
                except self.waits_out as error:
                    if self.is_over:
                        raise
                    self._reason = _reason(error)
                # From now on until it succeeds: a server that stands still lets each try last many seconds.
                self._waiting += not waiting
                waiting = True
                await self.over_within(TRY_EVERY_S)
        finally:
            self._waiting -= waiting

    async def wait_for(self, reason: str) -> None:
        """A moment, in which everybody is told the reason."""
        self._waiting += 1
        self._reason = reason
        try:
            await self.over_within(TRY_EVERY_S)
        finally:
            self._waiting -= 1

    async def over_within(self, seconds: float) -> bool:
        """Sleeps for so long, or until the engine stops."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True


def _reason(error: Unavailable) -> str:
    if isinstance(error, DiskFull):
        return f"disk full at {error.path.parent}, {ENOUGH_MB} MB needed"
    return str(error)
