"""An exception in another thread never leaves CPython's flag set: traced code would hang in its first line then."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from shoal.spiders.thread_exception import raise_in, withdraw

CALLBACK_TIMES_OUT = """
def time_out():
    with pytest.raises(CallbackTimeout), CallbackLimits(seconds=0.1):
        while True:
            pass

with ThreadPoolExecutor(1) as threads:
    threads.submit(time_out).result()
"""
HOOK_WAITS_IN_C = """
never = threading.Event()

async def main():
    with pytest.raises(TimeoutError):
        await in_hook_thread(0.1, never.wait)

asyncio.run(main())
"""
TRACED = """
import asyncio, os, sys, threading
from concurrent.futures import ThreadPoolExecutor
import pytest
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.callback_timer import CallbackTimeout
from shoal.spiders.hook_thread import in_hook_thread
{code}
def traced():
    return "the traced function returned"

sys.settrace(lambda *_: None)
result = traced()
sys.settrace(None)
print(result, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("code", [CALLBACK_TIMES_OUT, HOOK_WAITS_IN_C])
def test_traced_code_runs_on_after_a_timeout_in_a_thread(code: str) -> None:
    command = [sys.executable, "-c", TRACED.format(code=code)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "the traced function returned\n", ran.stderr


@pytest.mark.parametrize("wait_s", [0.0, 0.2])
def test_an_exception_reaches_a_thread_that_loops_and_one_that_waits(wait_s: float) -> None:
    is_ready, was_raised = threading.Event(), threading.Event()

    def loop() -> None:
        try:
            is_ready.set()
            time.sleep(wait_s)
            while True:
                pass
        except KeyError:
            was_raised.set()

    thread = start(loop)
    assert is_ready.wait(60)
    raise_in(thread, KeyError)
    assert was_raised.wait(60)


@pytest.fixture
def threads_do_not_switch() -> Iterator[None]:
    """Until the running one waits."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(600)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("threads_do_not_switch")
def test_a_withdrawn_exception_is_not_raised() -> None:
    is_ready, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        is_ready.set()
        may_end.wait()
        ended.set()

    thread = start(wait)
    assert is_ready.wait(60)
    raise_in(thread, KeyError)
    withdraw(thread)
    may_end.set()
    assert ended.wait(60)


def start(code: Callable[[], None]) -> int:
    thread = threading.Thread(target=code, daemon=True)
    thread.start()
    assert thread.ident is not None
    return thread.ident
