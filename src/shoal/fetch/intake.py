"""How much of big bodies a process holds, from their first bytes until they are done with: beyond a bound, more pause.

A host whose transfer pauses is not read from. Transfers go on in order and then to their end: as there is room, a few
whether there is or not, and one a second whatever the others do, so that nobody who drips holds them up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

FREE_BYTES = 256 * 1024
"""Of each body: most are no larger, and are neither counted nor paused."""
MOST_BYTES = 48_000_000
MOST_AHEAD = 2
"""Bodies that go on without room: a process full of beginnings must not stand still."""
PATIENCE_S = 1.0


class Hold:
    """What one body takes of the intake. Whoever has it releases it when the body is done with."""

    __slots__ = ("_go_on", "_intake", "_is_let_on", "bytes")

    def __init__(self, intake: Intake, go_on: Callable[[], int]) -> None:
        self._intake = intake
        self._go_on = go_on
        self._is_let_on = False
        self.bytes = 0

    def takes(self, size: int) -> bool:
        """Whether the body may grow to this size now; if not, its transfer is told to go on later."""
        if self._intake.is_full and not self._is_let_on:
            self._intake.pause(self)
            return False
        self.count(max(size, self.bytes))
        return True

    def count(self, size: int) -> None:
        self._intake.bytes += size - self.bytes
        self.bytes = size

    def let_on(self) -> None:
        self._is_let_on = True
        # All that may come is counted at once, or everybody would be let on into the same room.
        self.count(self._go_on())

    def release(self) -> None:
        """May be called again."""
        self.count(0)
        self._intake.leave(self)


class Intake:
    """Belongs to one event loop; all fetchers of a process may share it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self.bytes = 0
        self._ahead: set[Hold] = set()
        """Let on without room."""
        self._paused: dict[Hold, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most_bytes

    def pause(self, hold: Hold) -> None:
        self._paused[hold] = None
        # Not at once: libcurl must not be called from what it calls.
        asyncio.get_running_loop().call_soon(self._let_on)

    def leave(self, hold: Hold) -> None:
        self._paused.pop(hold, None)
        self._ahead.discard(hold)
        self._let_on()

    def _let_on(self) -> None:
        while self._paused and (not self.is_full or len(self._ahead) < MOST_AHEAD):
            self._let_first_on()
        if self._paused and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._lose_patience)

    def _let_first_on(self) -> None:
        first = next(iter(self._paused))
        del self._paused[first]
        if self.is_full:
            self._ahead.add(first)
        first.let_on()

    def _lose_patience(self) -> None:
        self._timer = None
        if self._paused:
            self._let_first_on()
        self._let_on()
