"""The stop signal from a worker's main process to its children: its time, in memory that is shared since before the
fork. Celery sends nothing to children while they work."""

from __future__ import annotations

import mmap
import struct
import time

_TIME = struct.Struct("<d")
_MEMORY = mmap.mmap(-1, _TIME.size)


def send_stop() -> None:
    _TIME.pack_into(_MEMORY, 0, time.monotonic())


def stop_requested() -> bool:
    return stopping_since() is not None


def stopping_since() -> float | None:
    """By the monotonic clock, which all processes of a machine share; None: no stop was requested."""
    (at,) = _TIME.unpack_from(_MEMORY, 0)
    return at or None
