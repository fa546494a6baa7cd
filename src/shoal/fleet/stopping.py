"""The word to stop, from a worker's main process to its children: one byte of memory that they share since before the
fork, because Celery tells children nothing while they work."""

from __future__ import annotations

import mmap

_BYTE = mmap.mmap(-1, 1)


def tell_to_stop() -> None:
    _BYTE[0] = 1


def told_to_stop() -> bool:
    return _BYTE[0] == 1
