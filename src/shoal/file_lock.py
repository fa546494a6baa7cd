"""A lock on a file. The system releases it when its holder ends, however that happens."""

from __future__ import annotations

import fcntl
import time
from typing import IO, Any

TRIES = 10
TRY_EVERY_S = 0.02


def try_lock(file: IO[Any]) -> bool:
    """Retries for a moment, because a process that only asks who holds the lock also takes it briefly."""
    for _ in range(TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(TRY_EVERY_S)
        else:
            return True
    return False
