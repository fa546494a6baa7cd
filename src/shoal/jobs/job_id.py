"""Ids for new jobs."""

from __future__ import annotations

import time
from secrets import choice

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_CHARS = 11


def new_job_id() -> str:
    """Sorts after the ids of earlier jobs, for some years. Users may type only the first letters."""
    seconds = int(time.time())
    head = "".join(_DIGITS[seconds >> shift & 31] for shift in (25, 20, 15, 10, 5, 0))
    # 100 ids in one second collide with p = 1/6,000.
    return head + "".join(choice(_DIGITS) for _ in range(_CHARS - len(head)))


def is_job_id(name: str) -> bool:
    """Whether this is a complete id, not the beginning of one."""
    return len(name) == _CHARS and set(name) <= set(_DIGITS)
