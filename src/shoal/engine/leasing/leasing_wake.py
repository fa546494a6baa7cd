"""Wakes the engine's leasing turns: at once, or a moment later for news that nobody waits for."""

from __future__ import annotations

import asyncio

LATER_S = 0.02
"""How long a landing may wait for the results of its request, so that both need one turn."""


class LeasingWake:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.has_room = True
        """Whether the last turn could have leased something. If not, every request that ends is news."""

    def now(self) -> None:
        self._event.set()

    def later(self) -> None:
        """Unless something else wakes it before."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LATER_S, self._event.set)

    def clear(self) -> None:
        """At the beginning of a turn: what comes after it needs another."""
        self._event.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def wait(self, timeout_s: float | None = None) -> None:
        """Until it is woken, or for `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        except TimeoutError:
            pass
