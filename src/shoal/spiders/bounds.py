"""Limits on a callback's time and memory, so that one page's code cannot stop a crawl.

Time is kept by an interval timer whose signal raises in the callback, memory by a limit on the address space while it
runs. Both need the main thread of a process on Linux or macOS; elsewhere, as on a fleet, a parent watches progress.
"""

from __future__ import annotations

import resource
import signal
import threading
import time
import types
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 10.0
MEMORY_BYTES = 1 << 30
_STATM = Path("/proc/self/statm")


class TookTooLong(Exception):
    pass


class Bounds:
    """`with bounds:` around code that may misbehave; not to be nested."""

    def __init__(self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._timed: bool | None = None
        """Known at the first use, which is where it will be used."""
        self._has_statm = _STATM.exists()
        self._measured_at = 0.0
        self._size = 0
        self._limits = resource.getrlimit(resource.RLIMIT_AS)

    def __enter__(self) -> None:
        if self._timed is None:
            self._timed = threading.current_thread() is threading.main_thread()
            if self._timed:
                signal.signal(signal.SIGALRM, self._ring)
        if not self._timed:
            return
        if self._has_statm:
            resource.setrlimit(resource.RLIMIT_AS, (self._most(), self._limits[1]))
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        if self._timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            resource.setrlimit(resource.RLIMIT_AS, self._limits)

    def _most(self) -> int:
        now = time.monotonic()
        if now - self._measured_at > 1.0:
            self._size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
            self._measured_at = now
        most = self._size + self._memory_bytes
        hard = self._limits[1]
        return most if hard == resource.RLIM_INFINITY else min(most, hard)

    def _ring(self, _signal: int, _frame: types.FrameType | None) -> None:
        raise TookTooLong(f"it took more than {self._seconds:g} s for one page")


@types.coroutine
def stepwise(work: Coroutine[Any, Any, T], bounds: Bounds) -> Generator[Any, Any, T]:
    """Awaits `work` with the bounds around each of its steps, not around what goes on while it waits."""
    value: Any = None
    error: BaseException | None = None
    while True:
        with bounds:
            try:
                awaited = work.send(value) if error is None else work.throw(error)
            except StopIteration as stop:
                result: T = stop.value
                return result
        try:
            value, error = (yield awaited), None
        except BaseException as thrown:
            # Whatever is thrown in belongs to the work, cancellation included.
            error = thrown
