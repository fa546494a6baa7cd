"""A callback's limits hold in any thread: an embedded crawl runs it in the main thread, a fleet in another."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.callback_timer import CallbackTimeout


def here(code: Callable[[], None]) -> None:
    code()


def in_a_thread(code: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as threads:
        threads.submit(code).result()


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_an_endless_loop_is_stopped_after_its_time(run: Callable[[Callable[[], None]], None]) -> None:
    def loop() -> None:
        with CallbackLimits(seconds=0.3):
            while True:
                pass

    with pytest.raises(CallbackTimeout, match=r"more than 0\.3 s"):
        run(loop)


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_a_callback_with_too_much_memory_is_stopped(run: Callable[[Callable[[], None]], None]) -> None:
    def hoard() -> None:
        with CallbackLimits(memory_bytes=100_000_000):
            bytearray(200_000_000)

    with pytest.raises(MemoryError):
        run(hoard)


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_later_code_is_not_stopped(run: Callable[[Callable[[], None]], None]) -> None:
    def quick_then_slow() -> None:
        bounds = CallbackLimits(seconds=1)
        for _ in range(2):
            with bounds:
                pass
            time.sleep(1.3)

    run(quick_then_slow)
