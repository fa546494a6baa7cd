"""The time limit of callbacks that run in another thread than the main one."""

from __future__ import annotations

import threading
import time

from shoal.spiders.callback_timer import timer_of_this_thread


def watching() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "callback-time"]


def test_a_watch_ends_with_its_thread_so_that_no_later_thread_gets_its_exception() -> None:
    before = set(watching())
    started: list[threading.Thread] = []

    def end_without_stopping_the_timer() -> None:
        timer_of_this_thread().start(60)
        started.extend(set(watching()) - before)

    thread = threading.Thread(target=end_without_stopping_the_timer)
    thread.start()
    thread.join()
    (watch,) = started
    deadline = time.monotonic() + 30
    while watch.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.02)
