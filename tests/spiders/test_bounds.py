"""A callback's bounds hold in any thread: embedded it runs in the main one, on a fleet in another."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from shoal.spiders.bounds import Bounds, TookTooLong


def here(code: Callable[[], None]) -> None:
    code()


def in_a_thread(code: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as threads:
        threads.submit(code).result()


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_code_that_loops_for_ever_is_stopped_with_its_time(run: Callable[[Callable[[], None]], None]) -> None:
    def loop() -> None:
        with Bounds(seconds=0.3):
            while True:
                pass

    with pytest.raises(TookTooLong, match=r"more than 0\.3 s"):
        run(loop)


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_code_that_hoards_memory_is_stopped(run: Callable[[Callable[[], None]], None]) -> None:
    def hoard() -> None:
        with Bounds(memory_bytes=100_000_000):
            bytearray(200_000_000)

    with pytest.raises(MemoryError):
        run(hoard)


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_what_follows_is_not_stopped(run: Callable[[Callable[[], None]], None]) -> None:
    def quick_then_slow() -> None:
        bounds = Bounds(seconds=0.3)
        for _ in range(3):
            with bounds:
                _spin(0.01)
            _spin(0.4)

    run(quick_then_slow)


def _spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
