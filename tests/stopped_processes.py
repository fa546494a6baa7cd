"""Processes that stand still: to others they look busy, or gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stopped(pids: Iterable[int], then: signal.Signals = signal.SIGCONT) -> Iterator[None]:
    """`then` is what they get at the end."""
    some = list(pids)
    for pid in some:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in some:
            os.kill(pid, then)


def with_children(pid: int) -> list[int]:
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
