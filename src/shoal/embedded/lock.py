"""The lock that lets one crawl at a time into a home, and the word of its holder to whoever looks on.

The system lets go of it however the process ends. What is in the file counts only while it is held, and always takes
the same room: a holder that waits for room on its disk can still write that down.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from shoal.errors import NO_ROOM, DiskFull, Unavailable
from shoal.file_lock import taken
from shoal.jobs.place import unusable_home

ROOM_BYTES = 4096
MOST_TOLD = 300
"""Characters of what is waited for: a path can be long."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that crawls in a home, and its job; "?" while it has not written them down yet."""

    pid: int | str = "?"
    job: str = "?"
    waiting_for: str | None = None
    """In words, what keeps it from going on."""
    reading: str | None = None
    """In words, the page whose reading takes long."""


class Lock:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._told = Holder()

    @contextmanager
    def held(self, job: str) -> Iterator[None]:
        """Raises Unavailable if another process holds it. Whoever holds it may ask again: to make a job and run it are
        one piece of work."""
        if self._file is not None:
            yield
            return
        with self._opened() as file:
            if not taken(file):
                holder = self.holder() or Holder()
                raise Unavailable(
                    f"{self._path.parent} is in use: process {holder.pid} is crawling job {holder.job} there; "
                    "wait for it, or crawl in another home with --home"
                )
            self._file = file
            try:
                self._write(Holder(os.getpid(), job))
                yield
            finally:
                self._file = None
                # For the next holder, until it has written its own; a disk that takes nothing keeps the old.
                with suppress(OSError):
                    os.pwrite(file.fileno(), b" " * ROOM_BYTES, 0)

    def tell(self, waiting_for: str | None, reading: str | None = None) -> None:
        """Of the holder: what it waits for, and the page whose reading takes long; None: nothing."""
        said = waiting_for and waiting_for[:MOST_TOLD]
        if self._file is None or (said, reading) == (self._told.waiting_for, self._told.reading):
            return
        # Not every file system writes in place without more room: then it is not told here.
        with suppress(DiskFull):
            self._write(replace(self._told, waiting_for=said, reading=reading))

    def holder(self) -> Holder | None:
        """None if nobody crawls here."""
        try:
            with self._path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return _read(file)
        except FileNotFoundError:
            pass
        return None

    def _opened(self) -> IO[bytes]:
        try:
            return os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise unusable_home(self._path.parent, error) from error

    def _write(self, holder: Holder) -> None:
        assert self._file is not None
        try:
            os.pwrite(self._file.fileno(), json.dumps(asdict(holder)).encode().ljust(ROOM_BYTES), 0)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise DiskFull(self._path) from error
        self._told = holder


def _read(file: IO[bytes]) -> Holder:
    try:
        return Holder(**json.loads(file.read()))
    except ValueError:
        # It is being written this moment.
        return Holder()
