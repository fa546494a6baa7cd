"""Limits the memory for big bodies, from their first bytes until they are processed. Beyond the limit, transfers pause.

While a transfer is paused, nothing is read from its host. Transfers resume in order and then run to their end: as
memory allows, a few even without memory, and one per second in any case, so that a very slow host cannot block the
others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

FREE_BYTES = 256 * 1024
"""Most bodies are no larger than this. They are neither counted nor paused."""
MOST_BYTES = 48_000_000
MOST_AHEAD = 2
"""Bodies that may go on without memory: a process full of partial bodies must not stand still."""
PATIENCE_S = 1.0


class BodyHold:
    """The memory that one body may_grow_to. Its owner releases it when the body is processed."""

    __slots__ = ("_go_on", "_is_let_on", "_memory", "bytes")

    def __init__(self, memory: BodyMemory, go_on: Callable[[], int]) -> None:
        self._memory = memory
        self._go_on = go_on
        self._is_let_on = False
        self.bytes = 0

    def may_grow_to(self, size: int) -> bool:
        """Whether the body may grow to this size now. If not, its transfer resumes later."""
        if self._memory.is_full and not self._is_let_on:
            self._memory.pause(self)
            return False
        self.count(max(size, self.bytes))
        return True

    def count(self, size: int) -> None:
        self._memory.bytes += size - self.bytes
        self.bytes = size

    def resume(self) -> None:
        self._is_let_on = True
        # The whole remaining size is counted at once; otherwise all transfers would resume into the same free memory.
        self.count(self._go_on())

    def release(self) -> None:
        """Safe to call again."""
        self.count(0)
        self._memory.leave(self)


class BodyMemory:
    """Belongs to one event loop. All fetchers of a process may share it."""

    def __init__(self, most_bytes: int = MOST_BYTES, patience_s: float = PATIENCE_S) -> None:
        self._most_bytes = most_bytes
        self._patience_s = patience_s
        self.bytes = 0
        self._ahead: set[BodyHold] = set()
        """Transfers that resumed without memory."""
        self._paused: dict[BodyHold, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most_bytes

    def pause(self, hold: BodyHold) -> None:
        self._paused[hold] = None
        # Later: libcurl must not be called from its own callback.
        asyncio.get_running_loop().call_soon(self._resume)

    def leave(self, hold: BodyHold) -> None:
        self._paused.pop(hold, None)
        self._ahead.discard(hold)
        self._resume()

    def _resume(self) -> None:
        while self._paused and (not self.is_full or len(self._ahead) < MOST_AHEAD):
            self._resume_first()
        if self._paused and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience_s, self._resume_overdue)

    def _resume_first(self) -> None:
        first = next(iter(self._paused))
        del self._paused[first]
        if self.is_full:
            self._ahead.add(first)
        first.resume()

    def _resume_overdue(self) -> None:
        self._timer = None
        if self._paused:
            self._resume_first()
        self._resume()
