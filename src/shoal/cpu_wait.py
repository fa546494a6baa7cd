"""Time limits for other processes, without the time in which they waited for a processor.

On a busy machine a process may take many times as long for what it does, and is not stuck. What it says may also wait
here, behind a flood of events.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def cpu_wait_s(pid: int) -> float:
    """How long the first thread of a process has been ready to run and did not. The kernel may not count it."""
    return _wait_s(str(pid))


def joint_cpu_wait_s(pid: int) -> float:
    """Of that thread and of the calling one, together."""
    return _wait_s(str(pid)) + _wait_s("thread-self")


def _wait_s(process: str) -> float:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


async def answered_in_time(
    answer: asyncio.Future[Any], limit_s: float, most_s: float, waited_s: Callable[[], float]
) -> bool:
    """False if there is no answer after `limit_s`, without what `waited_s` grows meanwhile, or after `most_s`."""
    began, before = time.monotonic(), waited_s()
    left_s = limit_s
    while left_s > 0:
        await asyncio.wait([answer], timeout=left_s)
        # Also when the time is over: the answer may have come at that moment, or while this process itself had to wait.
        if answer.done():
            return True
        elapsed_s = time.monotonic() - began
        left_s = min(limit_s + max(0.0, waited_s() - before), most_s) - elapsed_s
    return False


async def result_in_time(work: Awaitable[T], limit_s: float, most_s: float, waited_s: Callable[[], float]) -> T:
    """Raises TimeoutError if there is no answer in time, and gives the work up."""
    answer = asyncio.ensure_future(work)
    try:
        if not await answered_in_time(answer, limit_s, most_s, waited_s):
            raise TimeoutError(f"no answer within {limit_s:g} s")
        return answer.result()
    finally:
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
