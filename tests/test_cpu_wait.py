"""A process that waits for a processor is given more time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest

from shoal.browser.devtools import BrowserGone
from shoal.cpu_wait import answered_in_time, cpu_wait_s, result_in_time
from tests.browser.rendering import LONG_S

SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"


async def test_an_answer_is_awaited_while_the_browser_waits_for_a_processor() -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asked, began = 0, time.monotonic()

    def waited_s() -> float:
        nonlocal asked
        asked += 1
        if asked == 4:
            answer.set_result(None)
        return time.monotonic() - began

    assert await answered_in_time(answer, 0.005, LONG_S, waited_s)
    assert asked == 4


async def test_a_browser_that_does_not_answer_is_given_up_sooner_or_later() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert not await answered_in_time(never, 0.005, LONG_S, lambda: 0.0)
    assert not await answered_in_time(never, 0.005, 0.02, time.monotonic)


async def test_work_that_takes_too_long_is_given_up_and_its_answer_or_fault_is_passed_on() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError, match="no answer"):
        await result_in_time(never, 0.005, LONG_S, lambda: 0.0)
    assert never.cancelled()
    assert await result_in_time(asyncio.sleep(0, "done"), LONG_S, LONG_S, lambda: 0.0) == "done"
    never = asyncio.get_running_loop().create_future()
    never.set_exception(BrowserGone("the browser has ended"))
    with pytest.raises(BrowserGone):
        await result_in_time(never, LONG_S, LONG_S, lambda: 0.0)


def test_the_wait_for_a_processor_is_counted() -> None:
    places = os.sched_getaffinity(0)
    place = min(places)
    with subprocess.Popen([sys.executable, "-c", SPIN, str(place)], stdout=subprocess.PIPE) as neighbour:
        try:
            assert neighbour.stdout is not None and neighbour.stdout.readline()
            os.sched_setaffinity(0, {place})
            before, deadline = cpu_wait_s(neighbour.pid), time.monotonic() + LONG_S
            while cpu_wait_s(neighbour.pid) < before + 0.01:
                assert time.monotonic() < deadline
        finally:
            os.sched_setaffinity(0, places)
            neighbour.kill()
    assert cpu_wait_s(neighbour.pid) >= 0.0, "one that has ended is no error"
