"""Tunes how malloc handles freed memory."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory(kept_bytes: int) -> None:
    """Lets glibc keep up to `kept_bytes` of freed memory. Pieces larger than a quarter of that are still returned.

    A page's tree is freed before the next one is made. By default glibc returns that memory to the system and requests
    it again, page fault by page fault, which takes as long as the parsing. Without glibc nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, kept_bytes)
        mallopt(_M_MMAP_THRESHOLD, kept_bytes // 4)
