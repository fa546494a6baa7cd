"""The log file of a role: the processes of one role, on one machine and in one home, write events as JSON lines.

All of them append to it. The first process that finds it full renames it, and the others notice that it has moved.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from logging.handlers import WatchedFileHandler
from pathlib import Path

FULL_BYTES = 10_000_000
_SHARED = {"child": "worker"}
"""Roles that write to another role's file."""


def folder(home: Path) -> Path:
    return home / "logs"


def path_of(home: Path, role: str) -> Path:
    return folder(home) / f"{_SHARED.get(role, role)}.log"


def files(home: Path) -> Iterator[Path]:
    """All log files, the rotated ones first."""
    yield from sorted(folder(home).glob("*.log.1"))
    yield from sorted(folder(home).glob("*.log"))


class RoleLogHandler(WatchedFileHandler):
    def __init__(self, path: Path, full_bytes: int = FULL_BYTES) -> None:
        """Raises OSError if the file cannot be written."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().__init__(path, encoding="utf-8")
        self._full_bytes = full_bytes

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        if self.stream is not None and os.fstat(self.stream.fileno()).st_size > self._full_bytes:
            self._rotate(self.stream.fileno())

    def _rotate(self, file: int) -> None:
        path = Path(self.baseFilename)
        # If several processes find it full, only the first may rename it: the next would overwrite the rotated file.
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if path.exists() and path.stat().st_ino == os.fstat(file).st_ino:
                path.replace(path.with_suffix(".log.1"))
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
