"""Heartbeats of this machine's processes, in files of the home that outlive them.

A process writes when it last made progress and what it waits for, and holds a lock that ends with the process. So
other processes can see whether it works, is silent or is dead, and which page a dead process was parsing.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.engine.reading.crash_marker import CrashMarker

_RECORD = struct.Struct("<dqq400s")
_ENDING = ".life"
_MARK = ".mark"
_own: set[Path] = set()
"""Never opened again: closing any file handle of a POSIX-locked file releases the process's lock on it."""


def machine() -> str:
    return socket.gethostname()


class Heartbeat:
    """The heartbeat of this process."""

    def __init__(self, home: Path, role: str) -> None:
        self.id = f"{role}-{machine()}-{os.getpid()}-{time.time_ns() // 1_000_000}"
        folder = home / "run"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / f"{self.id}{_ENDING}"
        # Under another name until it is locked: a file without a lock means a dead process.
        part = self._path.with_suffix(".part")
        part.write_bytes(bytes(_RECORD.size))
        self._file = part.open("r+b")
        # A POSIX lock, because an flock would be inherited by a forked process and outlive this one.
        fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._memory = mmap.mmap(self._file.fileno(), _RECORD.size)
        self.progressed(time.monotonic())
        self.crash_marker = CrashMarker(self._path.with_suffix(_MARK))
        _own.add(self._path)
        part.rename(self._path)

    def progressed(self, at: float, waiting_for: str | None = None) -> None:
        """`at` is by the monotonic clock, which all processes of a machine share."""
        _RECORD.pack_into(self._memory, 0, at, os.getpid(), os.getppid(), (waiting_for or "").encode())

    def end(self) -> None:
        """Removes the files: the process ended normally, and left no lease behind."""
        self.crash_marker.close()
        self._memory.close()
        _remove(self._path)
        self._file.close()


@dataclass(frozen=True, slots=True)
class LastHeartbeat:
    """The last heartbeat that a process wrote."""

    path: Path
    progressed_at: float
    pid: int
    parent: int
    waiting_for: str
    """Empty: it waits for nothing."""

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def role(self) -> str:
        return self.id.partition("-")[0]

    @property
    def silent_s(self) -> float:
        return time.monotonic() - self.progressed_at

    @property
    def is_dead(self) -> bool:
        try:
            with self.path.open("r+b") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except FileNotFoundError:
            pass
        return True

    @property
    def was_parsing(self) -> list[int]:
        """The token of the page that it is parsing, or was parsing when it died."""
        path = self.path.with_suffix(_MARK)
        if not path.exists():
            return []
        mark = CrashMarker(path)
        try:
            return mark.left_behind()
        finally:
            mark.close()

    def delete_files(self) -> None:
        _remove(self.path)


def last_heartbeats(home: Path) -> Iterator[LastHeartbeat]:
    """The heartbeats of all other processes of this machine and home whose files were not removed."""
    for path in sorted(set((home / "run").glob(f"*-{machine()}-*{_ENDING}")) - _own):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        if len(data) == _RECORD.size:
            at, pid, parent, waiting_for = _RECORD.unpack(data)
            # The text may be cut off inside a UTF-8 character.
            yield LastHeartbeat(path, at, pid, parent, waiting_for.rstrip(b"\0").decode(errors="ignore"))


def remove_dead(home: Path, role: str) -> None:
    """Removes the files of killed processes of this role; called by the process that replaces them."""
    for sign in last_heartbeats(home):
        if sign.role == role and sign.is_dead:
            sign.delete_files()


def _remove(path: Path) -> None:
    path.with_suffix(_MARK).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
