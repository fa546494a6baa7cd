"""The lock of a job that a process of this machine crawls. Its file also shows what that process is doing.

Several jobs may be crawled in one home, each by one process. The system releases a lock when its process ends, however
that happens. The file's content counts only while the lock is held. It always has the same size, so that a holder can
report a full disk.
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
from shoal.file_lock import try_lock
from shoal.jobs.deployment import unusable_home

FOLDER = "crawls"
SUFFIX = ".lock"
ROOM_BYTES = 4096
MAX_REPORT_CHARS = 300
"""Limits each report: it may contain a long path, or what a browser says."""


def crawled_jobs(home: Path) -> list[str]:
    """The jobs that processes crawl in the home at this moment."""
    jobs = sorted(path.name.removesuffix(SUFFIX) for path in (home / FOLDER).glob(f"*{SUFFIX}"))
    return [job for job in jobs if JobLock(home, job).holder() is not None]


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that crawls a job; "?" until it has written its id."""

    pid: int | str = "?"
    waiting_for: str | None = None
    """What keeps the crawl from continuing, as text."""
    reading: str | None = None
    """What delays the crawl, as text, such as a page that takes long to read; it still works."""


class JobLock:
    def __init__(self, home: Path, job: str) -> None:
        self._home = home
        self._job = job
        self._path = home / FOLDER / f"{job}{SUFFIX}"
        self.marker_path = home / FOLDER / f"{job}.parsing"
        """The file that names the page which the holder parses."""
        self._file: IO[bytes] | None = None
        self._reported = LockHolder()
        self._is_last = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises Unavailable if another process holds the lock. May be nested, because creating a job and running it
        happen under one lock."""
        if self._file is not None:
            yield
            return
        with self.tried() as is_held:
            if not is_held:
                holder = self.holder() or LockHolder()
                raise Unavailable(
                    f"job {self._job} is running in process {holder.pid}: wait for it, or stop it there with Ctrl-C"
                )
            yield

    @contextmanager
    def tried(self) -> Iterator[bool]:
        """Gives whether the lock is held in the block: False if another process has it."""
        file = self._locked()
        if file is None:
            yield False
            return
        with file:
            # A file that is new goes again, unless a crawl begins: the job may turn out to be impossible.
            self._file, self._is_last = file, not os.fstat(file.fileno()).st_size
            try:
                self._write(LockHolder(os.getpid()))
                yield True
            finally:
                self._file = None
                # Blank until the next holder has written its own; a full disk may keep the old content.
                with suppress(OSError):
                    os.pwrite(file.fileno(), b" " * ROOM_BYTES, 0)
                    if self._is_last:
                        self.marker_path.unlink(missing_ok=True)
                        self._path.unlink()

    def keep_when_released(self) -> None:
        """A job that is continued on a full disk needs its file."""
        self._is_last = False

    def remove_when_released(self) -> None:
        """The job has ended."""
        self._is_last = True

    def report(self, waiting_for: str | None, reading: str | None = None) -> None:
        """For the holder: shows what it waits for, and what else delays it; None: nothing."""
        waiting_for = waiting_for and waiting_for[:MAX_REPORT_CHARS]
        reading = reading and reading[:MAX_REPORT_CHARS]
        if self._file is None or (waiting_for, reading) == (self._reported.waiting_for, self._reported.reading):
            return
        # Some file systems need free space even to overwrite in place; then nothing is reported.
        with suppress(DiskFull):
            self._write(replace(self._reported, waiting_for=waiting_for, reading=reading))

    def holder(self) -> LockHolder | None:
        """None if no process crawls the job."""
        try:
            with self._path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return _read(file)
        except FileNotFoundError:
            pass
        return None

    def _locked(self) -> IO[bytes] | None:
        """The file, locked; None if another process has the lock."""
        while True:
            file = self._opened()
            if not try_lock(file):
                file.close()
                return None
            with suppress(FileNotFoundError):
                # The last holder may have removed the file before we got the lock.
                if os.path.samestat(os.fstat(file.fileno()), self._path.stat()):
                    return file
            file.close()

    def _opened(self) -> IO[bytes]:
        try:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            return os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise unusable_home(self._home, error) from error

    def _write(self, holder: LockHolder) -> None:
        assert self._file is not None
        try:
            os.pwrite(self._file.fileno(), json.dumps(asdict(holder)).encode().ljust(ROOM_BYTES), 0)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise DiskFull(self._path) from error
        self._reported = holder


def _read(file: IO[bytes]) -> LockHolder:
    try:
        return LockHolder(**json.loads(file.read()))
    except ValueError:
        # The holder is writing it at this moment.
        return LockHolder()
