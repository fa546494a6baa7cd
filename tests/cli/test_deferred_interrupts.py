"""Ctrl-C at any moment ends a command as an interrupt, never as a fault of the event loop."""

from __future__ import annotations

import asyncio
import signal
import sys
from itertools import count
from types import FrameType
from typing import Any

import pytest

from shoal.cli.deferred_interrupts import deferred_interrupts
from shoal.cli.session import Session

LOOP = ("runners.py", "base_events.py", "selector_events.py", "unix_events.py", "selectors.py")


class InterruptAtLine:
    """Interrupts when the n-th line of asyncio is about to run, but for those that run the work: it is cancelled."""

    def __init__(self, n: int) -> None:
        self.left = n
        self._running = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> InterruptAtLine | None:
        if not frame.f_code.co_filename.endswith(LOOP):
            return None
        if frame.f_code is asyncio.Runner.run.__code__:
            self._running += {"call": 1, "return": -1}.get(event, 0)
        if event == "line" and not self._running:
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return self


async def nothing() -> None: ...


async def cancelled() -> None:
    raise asyncio.CancelledError


def test_an_interrupt_comes_after_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append(True)
    assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_event_loop_is_made_and_closed_whole_whenever_the_interrupt_comes() -> None:
    for n in count(1):
        interrupt = InterruptAtLine(n)
        try:
            with Session() as session:
                work = nothing()
                sys.settrace(interrupt)
                session.run(work)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        if interrupt.left > 0:
            break
    assert n > 50


def test_work_that_is_cancelled_was_interrupted() -> None:
    with Session() as session, pytest.raises(KeyboardInterrupt):
        session.run(cancelled())
