"""The directory that holds everything of an embedded crawler, and the lock that lets one crawl at a time into it.

Other processes may look and steer through the databases while a crawl runs: it finds their word at its next lease.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Self

from shoal.engine.mark import Mark
from shoal.errors import Unavailable, UsageError
from shoal.frontier.sqlite import SqliteFrontier
from shoal.jobs.place import Standing, counted, make_folder, nothing_to
from shoal.model import ENDED, Figures, JobState
from shoal.store.archive.archive import Archive
from shoal.store.jobs import Job, set_state
from shoal.store.store import Store

LOCK_TRIES = 10
LOCK_WAIT_S = 0.02
OF_A_FLEET = "a fleet works on it: name its Redis by SHOAL_REDIS_URL"


class Home:
    def __init__(self, path: Path, archive_url: str | None = None) -> None:
        self.path = path
        self.archive = Archive.at(archive_url, path)
        self._held = False
        make_folder(path)

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

    def worker_of(self, job: Job) -> object | None:
        """The process that works on this job."""
        holder = self.holder()
        return holder["pid"] if holder is not None and holder["job"] == job.id else None

    async def standing(self, job: Job) -> Standing:
        if job.fleet:
            return Standing(job, job.state, counted(self.store, job.id), OF_A_FLEET)
        state = await self._state(job)
        figures = await self.frontier.figures(job.id) if job.started_at else Figures()
        limiting = await self.frontier.limiting(job.id) if state is JobState.RUNNING and job.started_at else job.reason
        return Standing(job, state, figures, limiting)

    async def _state(self, job: Job) -> JobState:
        """What the store says, unless the process that would have changed it is gone or another terminal paused it."""
        if job.state in ENDED:
            return job.state
        if self.worker_of(job) is None:
            return JobState.INTERRUPTED
        if job.started_at and await self.frontier.rest(job.id) == "paused":
            return JobState.PAUSED
        # A run that ends is first written down as interrupted, a moment later as what it ended in.
        return JobState.RUNNING if job.state is JobState.INTERRUPTED else job.state

    async def pause(self, job: Job) -> str:
        self._check_ours(job)
        state, worker = await self._state(job), self.worker_of(job)
        if state in ENDED:
            raise UsageError(nothing_to("pause", job, state))
        if worker is None:
            ways = f"`shoal resume {job.id}` goes on with it, `shoal cancel {job.id}` ends it"
            raise UsageError(f"{nothing_to('pause', job, state)}; {ways}")
        await self.frontier.pause(job.id)
        return f"job {job.id} is paused; process {worker} waits"

    async def resume(self, job: Job) -> str | None:
        self._check_ours(job)
        if job.state in ENDED - {JobState.LIMITED}:
            raise UsageError(f"{nothing_to('resume', job, job.state)}; `shoal crawl` starts another")
        worker = self.worker_of(job)
        if worker is None:
            return None
        await self.frontier.resume(job.id)
        return f"job {job.id} goes on in process {worker}"

    async def cancel(self, job: Job) -> str:
        self._check_ours(job)
        if job.state in ENDED:
            raise UsageError(nothing_to("cancel", job, job.state))
        worker = self.worker_of(job)
        if worker is None and self.holder() is None:
            # What a killed process had leased returns to the queue, so that the job's figures add up. If another job
            # is crawled here now, that has been done when its crawl began.
            with self.locked(job.id):
                await self.frontier.reap(self.mark.left_behind(), all_leases=True)
                self.mark.clear()
        if worker is not None or job.started_at:
            await self.frontier.cancel(job.id)
        # Said here as well if a process works on it: one that is killed before it has seen the word would leave a job
        # to be resumed.
        set_state(self.store, job.id, JobState.CANCELLED, time.time())
        ending = f"; process {worker} saves what is in flight and ends" if worker is not None else ""
        return f"job {job.id} is cancelled{ending}"

    @contextmanager
    def at_rest(self, job: Job) -> Iterator[None]:
        self._check_ours(job)
        with self.locked(job.id):
            yield

    @asynccontextmanager
    async def reopened(self, job: Job) -> AsyncIterator[JobState]:
        self._check_ours(job)
        # A job that ended meanwhile would forget what is revived.
        with self.locked(job.id):
            yield JobState.INTERRUPTED

    def _check_ours(self, job: Job) -> None:
        if job.fleet:
            raise UsageError(f"job {job.id}: {OF_A_FLEET}")

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
