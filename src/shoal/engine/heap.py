"""What the process does with memory that it has freed."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed(kept_bytes: int) -> None:
    """A page's tree is freed before the next one is made. glibc would give its memory back to the system and ask for it
    again, page fault by page fault, which takes as long as the parsing. Now it keeps up to so much; pieces of more than
    a quarter of that still go back by themselves. Without glibc nothing changes."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, kept_bytes)
        mallopt(_M_MMAP_THRESHOLD, kept_bytes // 4)
