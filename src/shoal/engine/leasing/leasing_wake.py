"""Wakes the engine's leasing turns: at once, or a moment later for news that nobody waits for."""

from __future__ import annotations

import asyncio

from shoal.engine.timed_event import TimedEvent

LATER_S = 0.02
"""How long a landing may wait for the results of its request, so that both need one turn."""
SOON_S = 0.003
"""The same if its host may be fetched at once. Most results are saved by then."""


class LeasingWake:
    def __init__(self) -> None:
        self._event = TimedEvent()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self.has_room = True
        """Whether the last turn could have leased something. If not, every request that ends is news."""

    def now(self) -> None:
        self._event.set()

    def later(self, seconds: float) -> None:
        """In so many seconds, unless something else wakes it before."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._timer is not None and self._timer_at <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at, self._timer = at, loop.call_at(at, self._event.set)

    def clear(self) -> None:
        """At the beginning of a turn: what comes after it needs another."""
        self._event.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def wait(self, timeout_s: float | None = None) -> None:
        """Until it is woken, or for `timeout_s`."""
        await self._event.set_within(timeout_s)
