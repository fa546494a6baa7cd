"""Calls for a job's figures at a steady rate, over kept connections, whether or not earlier ones were answered.

Each call is due at a moment of its own, and its time counts from then: one that had to wait for another is as late as
it was for whoever wanted it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from shoal.client import Client

PER_S = 100
CONNECTIONS = 8


class Call(NamedTuple):
    due_at: float
    """By the clock of `time.monotonic`."""
    took_s: float


@contextmanager
def asking(client: Callable[[], Client], job: str) -> Iterator[list[Call]]:
    """While the block runs; the list is complete when it has ended."""
    calls, over, began = list[Call](), threading.Event(), time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        threads = [pool.submit(_ask, client, job, began + n / PER_S, calls, over) for n in range(CONNECTIONS)]
        try:
            yield calls
        finally:
            over.set()
        for thread in threads:
            thread.result()


def _ask(client: Callable[[], Client], job: str, due_at: float, calls: list[Call], over: threading.Event) -> None:
    with client() as caller:
        while not over.wait(max(0.0, due_at - time.monotonic())):
            caller.job(job)
            calls.append(Call(due_at, time.monotonic() - due_at))
            due_at += CONNECTIONS / PER_S
