"""A lock on a file, which the system lets go of however its holder ends."""

from __future__ import annotations

import fcntl
import time
from typing import IO, Any

TRIES = 10
TRY_EVERY_S = 0.02


def taken(file: IO[Any]) -> bool:
    """Tried for a moment: a process that only asks who holds the lock takes it too, for as long as that takes."""
    for _ in range(TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(TRY_EVERY_S)
        else:
            return True
    return False
