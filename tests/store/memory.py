"""Measures how much memory a block of code takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Peak:
    bytes: int = 0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """The peak above the level before the block, known when the block has ended."""
    peak = Peak()
    tracemalloc.start()
    try:
        yield peak
        peak.bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
