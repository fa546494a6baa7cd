"""Names for new jobs."""

from __future__ import annotations

import time
from secrets import choice

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_CHARS = 11


def new_job_id() -> str:
    """Later jobs sort after earlier ones of the same home for some years. To type, its first letters are enough."""
    seconds = int(time.time())
    head = "".join(_DIGITS[seconds >> shift & 31] for shift in (25, 20, 15, 10, 5, 0))
    # Among a hundred of one second two are the same once in six thousand times.
    return head + "".join(choice(_DIGITS) for _ in range(_CHARS - len(head)))


def is_job_id(name: str) -> bool:
    """A whole one, and not the beginning of one."""
    return len(name) == _CHARS and set(name) <= set(_DIGITS)
