"""The directory that holds everything of an embedded crawler, and the lock that lets one crawl at a time into it.

Other processes may look and steer through the databases while a crawl runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Self

from shoal.engine.mark import Mark
from shoal.errors import HomeError, Unavailable
from shoal.frontier.sqlite import SqliteFrontier
from shoal.store.archive.archive import Archive
from shoal.store.store import Store

LOCK_TRIES = 10
LOCK_WAIT_S = 0.02


class Home:
    def __init__(self, path: Path, archive_url: str | None = None) -> None:
        self.path = path
        self.archive = Archive.at(archive_url, path)
        self._held = False
        try:
            # For its owner only: a job may carry passwords, cookies and keys.
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise HomeError(f"{path} cannot be used as a home: {error.strerror}; choose another with --home") from error

    @cached_property
    def store(self) -> Store:
        return Store.open(self.path / "shoal.db")

    @cached_property
    def frontier(self) -> SqliteFrontier:
        return SqliteFrontier(self.path / "frontier.db")

    @cached_property
    def mark(self) -> Mark:
        return Mark(self.path / "parsing")

    def close(self) -> None:
        self.archive.close()
        for name in ("frontier", "store", "mark"):
            part = self.__dict__.pop(name, None)
            if part is not None:
                part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def locked(self, job: str) -> Iterator[None]:
        """Holds the home for a crawl of this job. The lock ends with the process, however it ends.

        Whoever holds it may ask again: to make a job and run it are one piece of work.
        """
        if self._held:
            yield
            return
        with self._lock_file.open("a+") as file:
            if not _lock(file):
                holder = self.holder() or {"pid": "?", "job": "?"}
                raise Unavailable(
                    f"{self.path} is in use: process {holder['pid']} is crawling job {holder['job']} there; "
                    "wait for it, or crawl in another home with --home"
                )
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "job": job}))
            file.flush()
            self._held = True
            try:
                yield
            finally:
                self._held = False
                file.truncate(0)

    def holder(self) -> dict[str, object] | None:
        """The process that crawls in this home now, and its job."""
        try:
            with self._lock_file.open("r+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    text = file.read()
                    return dict(json.loads(text)) if text else {"pid": "?", "job": "?"}
        except FileNotFoundError:
            pass
        return None

    @property
    def _lock_file(self) -> Path:
        return self.path / "lock"


def _lock(file: IO[str]) -> bool:
    """Tried for a moment: a process that only asks who holds the lock takes it too, for as long as that takes."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_WAIT_S)
        else:
            return True
    return False
