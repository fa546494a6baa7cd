"""Runs a hook in a thread of its own, for a limited time.

A hook may wait in C code, such as a socket without a timeout, where nothing can interrupt it. So a hook whose time is
up is left behind in its thread, which does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from shoal.spiders.callback_timer import CallbackTimeout
from shoal.spiders.thread_exception import raise_in

T = TypeVar("T")


async def in_hook_thread(seconds: float, function: Callable[..., T], *given: Any) -> T:
    """Raises TimeoutError when the time is up."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Callable[[], T]] = loop.create_future()

    def work() -> None:
        outcome: Callable[[], T] = _interrupted
        try:
            outcome = _outcome(function, *given)
        finally:
            # Whatever ends this thread, the job must not wait for it. The loop may have been closed meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_set, ended, outcome)

    thread = threading.Thread(target=work, name="hook", daemon=True)
    thread.start()
    done, _ = await asyncio.wait([ended], timeout=seconds)
    if done:
        return ended.result()()
    if thread.ident is not None:
        # Ends a loop in Python.
        raise_in(thread.ident, CallbackTimeout)
    raise TimeoutError


def _outcome(function: Callable[..., T], *given: Any) -> Callable[[], T]:
    try:
        result = function(*given)
    except BaseException as error:
        # Raised where the end of the hook is awaited.
        failure = error

        def fail() -> T:
            raise failure

        return fail
    return lambda: result


def _interrupted() -> NoReturn:
    raise TimeoutError


def _set(ended: asyncio.Future[T], outcome: T) -> None:
    if not ended.done():
        ended.set_result(outcome)
