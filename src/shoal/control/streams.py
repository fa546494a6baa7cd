"""Bodies of any length, which hold a thread for as long as they are sent: never more than half of a process's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any, cast

from flask import current_app

from shoal.control.problems import RETRY_S, Problem

_NAME = "shoal-streams"


def register(threads: int, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = BoundedSemaphore(max(1, threads // 2))


@contextmanager
def streaming() -> Iterator[None]:
    """Raises a Problem if as many streams are being read as may be."""
    free = cast(BoundedSemaphore, current_app.extensions[_NAME])
    if not free.acquire(blocking=False):
        raise Problem(503, "as many streams are being read as may be: try again", (), {"Retry-After": str(RETRY_S)})
    try:
        yield
    finally:
        free.release()
