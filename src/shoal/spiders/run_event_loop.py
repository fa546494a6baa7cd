"""Runs an event loop in which callbacks run to the end of its main coroutine.

A callback may leave code in the loop, by `loop.call_soon` or a task that nobody awaits. If that code raises SystemExit,
asyncio lets it out of the loop. It must not end the crawl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from shoal.telemetry import EventLogger

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]

log = EventLogger(__name__)


def run_in_new_loop(
    main: Coroutine[Any, Any, T], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> T:
    """Like `asyncio.run`."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return run_to_end(runner.get_loop(), runner.run, main)


def run_to_end(loop: asyncio.AbstractEventLoop, run: Run[T], main: Coroutine[Any, Any, T]) -> T:
    """`run` runs a coroutine in the loop. It is called again as long as `main` goes on."""
    task, refused = loop.create_task(main), False
    while True:
        try:
            return run(_result_of(task))
        except SystemExit as error:
            if task.done():
                raise
            if not refused:
                refused = True
                what = f"code that the spider left in the event loop tried to end the process: SystemExit: {error}"
                log.warning("spider_exit_refused", f"{what}; the crawl goes on")


async def _result_of(task: asyncio.Task[T]) -> T:
    return await task
