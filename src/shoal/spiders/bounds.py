"""Limits on a callback's time and memory, so that one page's code cannot stop a crawl.

Memory is kept by a limit on the address space while it runs; time by a timer whose signal raises in the callback, or,
in a thread as on a fleet, by another thread that raises in it. What neither reaches, such as a long call into C, is
for the parent that watches a fleet's processes.
"""

from __future__ import annotations

import ctypes
import resource
import signal
import threading
import time
import types
from collections.abc import Coroutine, Generator
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

SECONDS = 10.0
MEMORY_BYTES = 1 << 30
_STATM = Path("/proc/self/statm")


class TookTooLong(Exception):
    pass


class Timer(Protocol):
    """Raises TookTooLong in the code between `start` and `stop` if that takes longer."""

    def start(self, seconds: float) -> None: ...

    def stop(self) -> None: ...


class _Alarm:
    """For the main thread, the only one that signals reach."""

    def __init__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, _signal: int, _frame: types.FrameType | None) -> None:
        raise TookTooLong


class _Onlooker:
    """For any other thread: one more looks on from time to time, and raises in it."""

    LOOK_EVERY_S = 0.25

    def __init__(self, watched: int) -> None:
        self._watched = watched
        self._deadline: float | None = None
        self._raised = False
        self._turn = threading.Lock()
        threading.Thread(target=self._look_on, name="callback-time", daemon=True).start()

    def start(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def stop(self) -> None:
        with self._turn:
            self._deadline = None
            if self._raised:
                # It may have ended by itself just before the exception reached it.
                _raise_in(self._watched, None)
                self._raised = False

    def _look_on(self) -> None:
        while True:
            time.sleep(self.LOOK_EVERY_S)
            with self._turn:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    self._deadline, self._raised = None, True
                    _raise_in(self._watched, TookTooLong)


def _timer() -> Timer:
    if threading.current_thread() is threading.main_thread():
        return _Alarm()
    return _onlooker_of(threading.get_ident())


@cache
def _onlooker_of(thread: int) -> _Onlooker:
    """One, however many jobs' callbacks run there."""
    return _Onlooker(thread)


def _raise_in(thread: int, error: type[Exception] | None) -> None:
    raised = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


class Bounds:
    """`with bounds:` around code that may misbehave; not to be nested."""

    def __init__(self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._timer: Timer | None = None
        """Made at the first use, which is in the thread where it will be used."""
        self._has_statm = _STATM.exists()
        self._measured_at = 0.0
        self._size = 0
        self._limits = resource.getrlimit(resource.RLIMIT_AS)

    def __enter__(self) -> None:
        if self._timer is None:
            self._timer = _timer()
        if self._has_statm:
            resource.setrlimit(resource.RLIMIT_AS, (self._most(), self._limits[1]))
        self._timer.start(self._seconds)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        assert self._timer is not None
        self._timer.stop()
        resource.setrlimit(resource.RLIMIT_AS, self._limits)
        if isinstance(error, TookTooLong):
            error.args = (f"it took more than {self._seconds:g} s for one page",)

    def _most(self) -> int:
        now = time.monotonic()
        if now - self._measured_at > 1.0:
            self._size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
            self._measured_at = now
        most = self._size + self._memory_bytes
        hard = self._limits[1]
        return most if hard == resource.RLIM_INFINITY else min(most, hard)


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
