"""The directory that holds everything of an embedded crawler; one crawl at a time is let into it.

Other processes may look and steer through the databases while a crawl runs: it finds their word at its next lease.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from shoal.embedded.lock import Holder, Lock
from shoal.engine.mark import Mark
from shoal.errors import UsageError
from shoal.frontier.sqlite import SqliteFrontier
from shoal.jobs.place import Standing, counted, make_folder, nothing_to
from shoal.model import ENDED, Figures, JobState
from shoal.settings import UP_FILE
from shoal.store.archive.archive import Archive
from shoal.store.jobs import Job, change_spec, set_state
from shoal.store.store import Store

OF_A_FLEET = "a fleet works on it: name its Redis by SHOAL_REDIS_URL"
ITS_FLEET_IS_DOWN = "its fleet is down: `shoal up` starts it again"


class Home:
    def __init__(self, path: Path, archive_url: str | None = None) -> None:
        self.path = path
        self.archive = Archive.at(archive_url, path)
        self.lock = Lock(path / "lock")
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

    def check(self) -> None:
        """Opens its databases: one that cannot be used is told before anything is made."""
        _ = self.store, self.frontier

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

    def worker_on(self, job: Job) -> Holder | None:
        holder = self.lock.holder()
        return holder if holder is not None and holder.job == job.id else None

    async def standing(self, job: Job) -> Standing:
        if job.fleet:
            return self._of_a_fleet(job)
        state = await self._state(job)
        figures = await self.frontier.figures(job.id) if job.started_at else Figures()
        if state is JobState.RUNNING and (worker := self.worker_on(job)):
            if worker.waiting_for:
                return Standing(job, JobState.WAITING, figures, worker.waiting_for)
            if worker.reading:
                return Standing(job, state, figures, worker.reading)
        limiting = await self.frontier.limiting(job.id) if state is JobState.RUNNING and job.started_at else job.reason
        return Standing(job, state, figures, limiting)

    def _of_a_fleet(self, job: Job) -> Standing:
        figures = counted(self.store, job.id)
        if job.state in ENDED:
            return Standing(job, job.state, figures, job.reason)
        state = JobState.INTERRUPTED if self._fleet_was_here and job.state is not JobState.PAUSED else job.state
        return Standing(job, state, figures, self._way_to_the_fleet)

    @property
    def _fleet_was_here(self) -> bool:
        """Whoever comes to a home about a job of a fleet has found no `shoal up` that runs there."""
        return (self.path / UP_FILE).exists()

    @property
    def _way_to_the_fleet(self) -> str:
        return ITS_FLEET_IS_DOWN if self._fleet_was_here else OF_A_FLEET

    async def _state(self, job: Job) -> JobState:
        """What the store says, unless the process that would have changed it is gone or another terminal paused it."""
        if job.state in ENDED:
            return job.state
        if self.worker_on(job) is None:
            return JobState.INTERRUPTED
        if job.started_at and await self.frontier.rest(job.id) == "paused":
            return JobState.PAUSED
        # A run that ends is first written down as interrupted, a moment later as what it ended in.
        return JobState.RUNNING if job.state is JobState.INTERRUPTED else job.state

    async def pause(self, job: Job) -> str:
        self._check_ours(job)
        state, worker = await self._state(job), self.worker_on(job)
        if state in ENDED:
            raise UsageError(nothing_to("pause", job, state))
        if worker is None:
            ways = f"`shoal resume {job.id}` goes on with it, `shoal cancel {job.id}` ends it"
            raise UsageError(f"{nothing_to('pause', job, state)}; {ways}")
        await self.frontier.pause(job.id)
        return f"job {job.id} is paused; process {worker.pid} waits"

    async def resume(self, job: Job) -> str | None:
        self._check_ours(job)
        if job.state in ENDED:
            raise UsageError(f"{nothing_to('resume', job, job.state)}; `shoal crawl` starts another")
        worker = self.worker_on(job)
        if worker is None:
            return None
        await self.frontier.resume(job.id)
        return f"job {job.id} goes on in process {worker.pid}"

    async def change_limits(self, job: Job, limits: Mapping[str, Any]) -> None:
        self._check_ours(job)
        # Nobody works on it now; whoever does next gives the frontier what is stored.
        with self.lock.held(job.id):
            change_spec(
                self.store, job.id, lambda spec: spec.with_limits(limits), None, time.time(), JobState.INTERRUPTED
            )

    async def cancel(self, job: Job) -> str:
        self._check_ours(job)
        if job.state in ENDED:
            raise UsageError(nothing_to("cancel", job, job.state))
        worker = self.worker_on(job)
        if worker is None and self.lock.holder() is None:
            # What a killed process had leased returns to the queue, so that the job's figures add up. If another job
            # is crawled here now, that has been done when its crawl began.
            with self.lock.held(job.id):
                await self.frontier.reap(self.mark.left_behind(), all_leases=True)
                self.mark.clear()
        if worker is not None or job.started_at:
            await self.frontier.cancel(job.id)
        # Said here as well if a process works on it: one that is killed before it has seen the word would leave a job
        # to be resumed.
        set_state(self.store, job.id, JobState.CANCELLED, time.time())
        ending = f"; process {worker.pid} saves what is in flight and ends" if worker is not None else ""
        return f"job {job.id} is cancelled{ending}"

    @contextmanager
    def at_rest(self, job: Job) -> Iterator[None]:
        self._check_ours(job)
        with self.lock.held(job.id):
            yield

    @asynccontextmanager
    async def reopened(self, job: Job) -> AsyncIterator[JobState]:
        self._check_ours(job)
        # A job that ended meanwhile would forget what is revived.
        with self.lock.held(job.id):
            yield JobState.INTERRUPTED

    def _check_ours(self, job: Job) -> None:
        if job.fleet:
            raise UsageError(f"job {job.id}: {self._way_to_the_fleet}")
