"""Limits requests that hold a thread while they wait for others: a stream that is sent, a slow body, a page that is
fetched. All of them together use at most half of a process's threads; the others stay free for quick requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any, cast

from flask import current_app

_NAME = "shoal-slots"


def register(threads: int, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = BoundedSemaphore(max(1, threads // 2))


@contextmanager
def slot() -> Iterator[bool]:
    """Holds a slot until the end of the block; False if none is free."""
    free = cast(BoundedSemaphore, current_app.extensions[_NAME])
    had = free.acquire(blocking=False)
    try:
        yield had
    finally:
        if had:
            free.release()
