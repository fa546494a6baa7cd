"""The word to stop, from a worker's main process to its children: when it was given, in memory that they share since
before the fork, because Celery tells children nothing while they work."""

from __future__ import annotations

import mmap
import struct
import time

_TIME = struct.Struct("<d")
_WORD = mmap.mmap(-1, _TIME.size)


def tell_to_stop() -> None:
    _TIME.pack_into(_WORD, 0, time.monotonic())


def told_to_stop() -> bool:
    return stopping_since() is not None


def stopping_since() -> float | None:
    """By the monotonic clock, which all processes of a machine share; None: nobody was told."""
    (at,) = _TIME.unpack_from(_WORD, 0)
    return at or None
