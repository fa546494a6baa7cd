"""Who may hold a thread for as long as somebody else takes: a stream that is being sent, a body that drips, a page that
is waited for. All of them together leave half of a process's threads to whoever is quick."""

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
    """Held until the end of the block; False if none is free."""
    free = cast(BoundedSemaphore, current_app.extensions[_NAME])
    had = free.acquire(blocking=False)
    try:
        yield had
    finally:
        if had:
            free.release()
