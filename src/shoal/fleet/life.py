"""Signs of life of this machine's processes, in files of the home that outlive them.

A process writes when it last made progress and what it waits for, and holds a lock that ends with it however it ends.
So whoever looks can tell one that works from one that is silent, stopped or dead, and what a dead one was parsing.
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

from shoal.engine.mark import Mark

_LIFE = struct.Struct("<dqq400s")
_ENDING = ".life"
_MARK = ".mark"
_own: set[Path] = set()
"""Not to be looked at: a process that closes a file lets go of the lock that it has on it, however it came by that."""


def machine() -> str:
    return socket.gethostname()


class Life:
    """This process's own signs, to be kept up."""

    def __init__(self, home: Path, role: str) -> None:
        self.id = f"{role}-{machine()}-{os.getpid()}-{time.time_ns() // 1_000_000}"
        folder = home / "run"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / f"{self.id}{_ENDING}"
        # Under another name until it is locked: a file without a lock is a dead process's.
        part = self._path.with_suffix(".part")
        part.write_bytes(bytes(_LIFE.size))
        self._file = part.open("r+b")
        # A POSIX lock, because one of flock's would live on in a process that is forked meanwhile.
        fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._memory = mmap.mmap(self._file.fileno(), _LIFE.size)
        self.progressed(time.monotonic())
        self.mark = Mark(self._path.with_suffix(_MARK))
        _own.add(self._path)
        part.rename(self._path)

    def progressed(self, at: float, waiting_for: str | None = None) -> None:
        """By the monotonic clock, which all processes of a machine share."""
        _LIFE.pack_into(self._memory, 0, at, os.getpid(), os.getppid(), (waiting_for or "").encode())

    def end(self) -> None:
        """Nothing is left to be mourned."""
        self.mark.close()
        self._memory.close()
        _remove(self._path)
        self._file.close()


@dataclass(frozen=True, slots=True)
class Sign:
    """What one process left to be seen."""

    path: Path
    progressed_at: float
    pid: int
    parent: int
    waiting_for: str
    """In words; empty if for nothing."""

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
        """The token of the page that it was parsing, when it died or at this moment."""
        path = self.path.with_suffix(_MARK)
        if not path.exists():
            return []
        mark = Mark(path)
        try:
            return mark.left_behind()
        finally:
            mark.close()

    def bury(self) -> None:
        _remove(self.path)


def signs(home: Path) -> Iterator[Sign]:
    """Of every other process of this machine that ran from this home and was not buried."""
    for path in sorted(set((home / "run").glob(f"*-{machine()}-*{_ENDING}")) - _own):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        if len(data) == _LIFE.size:
            at, pid, parent, waiting_for = _LIFE.unpack(data)
            # It may be cut off in the middle of a letter.
            yield Sign(path, at, pid, parent, waiting_for.rstrip(b"\0").decode(errors="ignore"))


def bury_dead(home: Path, role: str) -> None:
    """Those of a role that were killed, now that another takes their place."""
    for sign in signs(home):
        if sign.role == role and sign.is_dead:
            sign.bury()


def _remove(path: Path) -> None:
    path.with_suffix(_MARK).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
