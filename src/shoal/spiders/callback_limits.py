"""Limits for one call of a callback, so that a user's code cannot stop a crawl.

A limit on the address space bounds memory while the callback runs. A timer (`callback_timer.py`) bounds time. Neither
can stop a long call into C; in a fleet, the parent process kills a child that hangs in one. `callback_sandbox.py` keeps
the callback from ending the process, and puts back what it changed of it.
"""

from __future__ import annotations

import asyncio
import resource
import time
import types
from collections.abc import Coroutine, Generator
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from shoal.spiders.callback_sandbox import ProcessState
from shoal.spiders.callback_tasks import CallbackTask, given_up
from shoal.spiders.callback_timer import CallbackTimeout, Timer, timer_of_this_thread

T = TypeVar("T")

SECONDS = 10.0
AWAIT_SECONDS = 45.0
"""For a whole async callback, with what it awaits. Less than the 60 s after which a fleet replaces a process that makes
no progress."""
MEMORY_BYTES = 1 << 30
_STATM = Path("/proc/self/statm")


class CrashMark(Protocol):
    """Names the page as the one to blame if the process dies; see `engine/reading/crash_marker.py`."""

    def set(self) -> None: ...

    def clear(self) -> None: ...


class _NoCrashMark:
    def set(self) -> None:
        pass

    def clear(self) -> None:
        pass


NO_CRASH_MARK = _NoCrashMark()
"""For a page that is not in the frontier."""


class CallbackLimits:
    """Use as `with limits:` around code that may misbehave; do not nest."""

    def __init__(
        self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES, await_s: float = AWAIT_SECONDS
    ) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self.await_s = await_s
        """For `in_own_task`."""
        self._timer: Timer | None = None
        """Made on first use, in the thread that will use it."""
        self._has_statm = _STATM.exists()
        self._measured_at = 0.0
        self._size = 0
        self._limits = resource.getrlimit(resource.RLIMIT_AS)

    def __enter__(self) -> None:
        if self._timer is None:
            self._timer = timer_of_this_thread()
            self._process = ProcessState()
        self._process.save()
        if self._has_statm:
            resource.setrlimit(resource.RLIMIT_AS, (self._most(), self._limits[1]))
        self._timer.start(self._seconds)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        assert self._timer is not None
        try:
            self._timer.stop()
        finally:
            # Time may be up this very moment: then that is raised here.
            resource.setrlimit(resource.RLIMIT_AS, self._limits)
            self._process.restore()
        if isinstance(error, CallbackTimeout) and not error.args:
            error.args = (f"it took more than {self._seconds:g} s for one page",)

    def await_timeout(self) -> CallbackTimeout:
        return CallbackTimeout(f"it took more than {self.await_s:g} s for one page, with what it awaited")

    def _most(self) -> int:
        now = time.monotonic()
        if now - self._measured_at > 1.0:
            self._size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
            self._measured_at = now
        most = self._size + self._memory_bytes
        hard = self._limits[1]
        return most if hard == resource.RLIM_INFINITY else min(most, hard)


@types.coroutine
def await_stepwise(work: Coroutine[Any, Any, T], bounds: CallbackLimits, mark: CrashMark) -> Generator[Any, Any, T]:
    """Awaits `work` with the limits around each of its steps, but not around what else runs while it waits. The limits
    also hold for the tasks that it starts."""
    loop = asyncio.get_running_loop()
    limited = partial(_limited_task, bounds, mark)
    value: Any = None
    error: BaseException | None = None
    while True:
        loop.set_task_factory(limited)
        mark.set()
        try:
            with bounds:
                try:
                    awaited = work.send(value) if error is None else work.throw(error)
                except StopIteration as stop:
                    result: T = stop.value
                    return result
        finally:
            mark.clear()
            loop.set_task_factory(None)
        try:
            value, error = (yield awaited), None
        except BaseException as thrown:
            # An exception thrown in from outside, such as a cancellation, belongs to the work.
            error = thrown
            task = asyncio.current_task()
            if isinstance(task, CallbackTask):
                if task.is_given_up:
                    given_up.append(work)
                    raise
                error, task.ending = task.ending or thrown, None


def _limited_task(
    bounds: CallbackLimits,
    mark: CrashMark,
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T],
    **options: Any,
) -> asyncio.Task[T]:
    return CallbackTask(_without_exit(work, bounds, mark), mark, loop=loop, **options)


async def _without_exit(work: Coroutine[Any, Any, T], bounds: CallbackLimits, mark: CrashMark) -> T:
    try:
        return await await_stepwise(work, bounds, mark)
    except (SystemExit, KeyboardInterrupt, CallbackTimeout) as error:
        # In a task, the first two would end the event loop.
        raise RuntimeError(f"a task of the callback ended with {type(error).__name__}: {error}") from error
