"""Gives a callback asyncio tasks of its own, so that it can cancel those, but not the tasks of the crawl, and so that
the crawl can end them, whatever they do.

Importing this module replaces `asyncio.all_tasks`, once and for good: a spider may import the function by name. So
import this module before the spider.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")

CLEANUP_S = 1.0
"""How long a task that the crawl ends may go on, for its `finally` blocks."""

given_up: list[object] = []
"""Coroutines that ignored their end. They are kept: Python closes a coroutine that it frees, and one that catches
everything in a loop would then never return."""

_all_tasks = asyncio.all_tasks


class CallbackTask(asyncio.Task[T]):
    """`page` is the same object for all tasks of one page."""

    def __init__(self, work: Coroutine[Any, Any, T], page: object, **options: Any) -> None:
        self.page = page
        self.ending: BaseException | None = None
        """Why the crawl ends it: raised in it instead of CancelledError."""
        self.is_given_up = False
        """It gets no further step."""
        super().__init__(work, **options)


async def in_own_task(
    begin: Callable[[], Awaitable[T]], page: object, timeout: BaseException, s: float
) -> T | BaseException:
    """Awaits `begin()` in a task, so that `asyncio.current_task()` is not the task of the crawl. Returns its exception
    instead of raising it: in a task, SystemExit would end the event loop. After `s` seconds `timeout` is raised in the
    task. If the crawl cancels its own task, all tasks of the page are cancelled, and CancelledError is raised."""
    task = CallbackTask(_without_raising(begin), page)
    try:
        await asyncio.wait([task], timeout=s)
        if task.done():
            return task.result()
        task.ending = timeout
    finally:
        if not task.done():
            await end_tasks(page)
    return task.result() if task.done() and not task.cancelled() else timeout


async def end_tasks(page: object = None) -> None:
    """Cancels the tasks of callbacks, or only those of one page. A task that goes on for CLEANUP_S gets no further
    step."""
    tasks = [task for task in _all_tasks() if isinstance(task, CallbackTask) and page in (None, task.page)]
    for task in tasks:
        task.cancel()
    if tasks:
        _, stubborn = await asyncio.wait(tasks, timeout=CLEANUP_S)
        for task in stubborn:
            task.is_given_up = True
            task.cancel()


async def _without_raising(begin: Callable[[], Awaitable[T]]) -> T | BaseException:
    try:
        return await begin()
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        # Raised by the caller of `in_own_task`.
        return error


_hidden_in: set[asyncio.AbstractEventLoop] = set()
"""Event loops in which a callback runs now."""


def hide_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Until `unhide_tasks`, `asyncio.all_tasks()` has only the tasks of the callback that runs."""
    _hidden_in.add(loop)


def unhide_tasks(loop: asyncio.AbstractEventLoop) -> None:
    _hidden_in.discard(loop)


@wraps(_all_tasks)
def _visible_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
    crawl = loop or asyncio.get_running_loop()
    if crawl not in _hidden_in:
        return _all_tasks(loop)
    current = asyncio.current_task(crawl)
    page = getattr(current, "page", None)
    return {task for task in _all_tasks(crawl) if task is current or getattr(task, "page", crawl) is page}


asyncio.all_tasks = asyncio.tasks.all_tasks = _visible_tasks


async def undo_cancel(task: asyncio.Task[Any], cancels: int) -> None:
    """Takes back what a plain callback did with `asyncio.current_task().cancel()`: it runs in the crawl's own task."""
    try:
        # The cancellation is raised here.
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        pass
    while task.cancelling() > cancels:
        task.uncancel()
