"""An event that is cheap to wait for with a time limit: requests wait for their start, and the engine for news."""

from __future__ import annotations

import asyncio

CLOCK_TICK_S = 0.001
"""uvloop counts whole milliseconds, and would come back up to one too early."""


class TimedEvent(asyncio.Event):
    def __init__(self) -> None:
        super().__init__()
        self._sleepers: set[asyncio.Future[None]] = set()

    def set(self) -> None:
        super().set()
        for sleeper in self._sleepers:
            _wake(sleeper)

    async def set_within(self, seconds: float | None) -> bool:
        """Waits until it is set, for at most `seconds`. Returns whether it is set. Costs a third of what a time limit
        around `wait` costs, because nothing is cancelled."""
        if self.is_set():
            return True
        loop = asyncio.get_running_loop()
        sleeper: asyncio.Future[None] = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds + CLOCK_TICK_S, _wake, sleeper)
        self._sleepers.add(sleeper)
        try:
            await sleeper
        finally:
            self._sleepers.discard(sleeper)
            if timer is not None:
                timer.cancel()
        return self.is_set()


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
