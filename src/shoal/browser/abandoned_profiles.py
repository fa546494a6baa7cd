"""Removes the profile folders of browsers that no longer run. A browser holds a lock on its folder until it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from shoal.browser.network_isolation import PROFILE_PREFIX

_YOUNG_S = 60.0
"""The start of its browser may not have locked a younger folder yet."""


def remove_abandoned_profiles() -> None:
    before = time.time() - _YOUNG_S
    for folder in Path(tempfile.gettempdir()).glob(f"{PROFILE_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < before and not _is_locked(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_locked(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
