"""The home: the directory of an embedded crawler. Several crawls may run in it, each in its own process.

They share the clocks of hosts. Each leases only the requests of its own job, whose lock it holds. Other processes may
read and control a running crawl through the databases: it sees their changes at its next lease.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from shoal.embedded.job_lock import JobLock, LockHolder, crawled_jobs
from shoal.engine.job_start import check_patterns
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.errors import FrontierLost, UnknownJob, UsageError
from shoal.frontier.sqlite import SqliteFrontier
from shoal.jobs.deployment import JobStatus, figures_from_store, make_folder, nothing_to, unusable_home
from shoal.model import ENDED, Figures, JobState
from shoal.settings import SPOOL_BYTES, UP_FILE
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spool_transfer import adopt
from shoal.store.job_changes import change_spec
from shoal.store.job_state import set_state
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store

OF_A_FLEET = "a fleet works on it: set SHOAL_REDIS_URL to the fleet's Redis"
ITS_FLEET_IS_DOWN = "its fleet is down: `shoal up` starts it again"
_CALLER = "crawl-"
_INLINE = "+inline"


def caller_of(job: str) -> str:
    """The name by which the process that crawls a job calls the frontier: no two processes crawl one job."""
    return f"{_CALLER}{job}"


def inline_caller(caller: str) -> str:
    """The second name of a process that crawls with Scrapy, for requests past the scheduler."""
    return f"{caller}{_INLINE}"


class Home:
    def __init__(self, path: Path, archive_url: str | None = None, spool_bytes: int = SPOOL_BYTES) -> None:
        self.path = path
        self.archive = Archive.at(archive_url, path, spool_bytes)
        self._locks: dict[str, JobLock] = {}
        make_folder(path)

    @property
    def database(self) -> Path:
        return self.path / "shoal.db"

    @cached_property
    def store(self) -> Store:
        return Store.open(self.database)

    @cached_property
    def frontier(self) -> SqliteFrontier:
        return SqliteFrontier(self.path / "frontier.db")

    def lock_of(self, job: str) -> JobLock:
        return self._locks.setdefault(job, JobLock(self.path, job))

    def crash_marker_of(self, job: str) -> CrashMarker:
        """For the process that holds the lock of the job, or is about to."""
        path = self.lock_of(job).marker_path
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return CrashMarker(path)
        except OSError as error:
            raise unusable_home(self.path, error) from error

    async def take_over(self, job: str) -> None:
        """For the process that holds the lock of the job: what a killed process had leased of it returns."""
        with closing(self.crash_marker_of(job)) as marker:
            await self.frontier.reap(marker.left_behind(), [caller_of(job), inline_caller(caller_of(job))])
            marker.clear()

    async def take_over_killed(self, own: str) -> int:
        """Returns what killed processes had leased of other jobs than `own`, so that the slots of their hosts are free
        for other crawls. Returns how many processes that were."""
        killed = 0
        for caller in self.frontier.lease_holders():
            job = caller.removeprefix(_CALLER).removesuffix(_INLINE)
            if not caller.startswith(_CALLER) or job == own or (lock := JobLock(self.path, job)).holder() is not None:
                continue
            with lock.tried() as is_killed:
                if is_killed:
                    await self.take_over(job)
                    killed += 1
        return killed

    def has_other_crawls(self, own: str) -> bool:
        """Whether another job than `own` is crawled here now."""
        return any(job != own for job in crawled_jobs(self.path))

    def check(self) -> None:
        """Opens the databases, so that an unusable one is reported before anything is created."""
        _ = self.store, self.frontier

    def close(self) -> None:
        self.archive.close()
        for name in ("frontier", "store"):
            part = self.__dict__.pop(name, None)
            if part is not None:
                part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def worker_on(self, job: Job) -> LockHolder | None:
        return self.lock_of(job.id).holder()

    async def job_status(self, job: Job) -> JobStatus:
        if job.fleet:
            return self._of_a_fleet(job)
        state = await self._state(job)
        figures = await self.frontier.figures(job.id) if job.started_at else Figures()
        worker = None if state in ENDED else self.worker_on(job)
        pid = worker.pid if worker else None
        if state is JobState.RUNNING and worker:
            if worker.waiting_for:
                return JobStatus(job, JobState.WAITING, figures, worker.waiting_for, pid)
            if worker.reading:
                return JobStatus(job, state, figures, worker.reading, pid)
        limiting = (
            await self.frontier.wait_reason(job.id) if state is JobState.RUNNING and job.started_at else job.reason
        )
        is_running = state is JobState.RUNNING and job.started_at
        ready_hosts = await self.frontier.ready_hosts(job.id) if is_running else None
        return JobStatus(job, state, figures, limiting, pid, ready_hosts)

    def _of_a_fleet(self, job: Job) -> JobStatus:
        figures = figures_from_store(self.store, job.id)
        if job.state in ENDED:
            return JobStatus(job, job.state, figures, job.reason)
        state = JobState.INTERRUPTED if self._fleet_was_here and job.state is not JobState.PAUSED else job.state
        return JobStatus(job, state, figures, self._way_to_the_fleet)

    @property
    def _fleet_was_here(self) -> bool:
        """Whether `shoal up` ran here. It does not run now: otherwise the command would have used its fleet."""
        return (self.path / UP_FILE).exists()

    @property
    def _way_to_the_fleet(self) -> str:
        return ITS_FLEET_IS_DOWN if self._fleet_was_here else OF_A_FLEET

    async def _state(self, job: Job) -> JobState:
        """The stored state, unless its process has died or another terminal has paused the job."""
        if job.state in ENDED:
            return job.state
        if self.worker_on(job) is None:
            return JobState.INTERRUPTED
        if job.started_at and await self.frontier.idle_reason(job.id) == "paused":
            return JobState.PAUSED
        # A run that ends is first stored as interrupted, and a moment later with its final state.
        return JobState.RUNNING if job.state is JobState.INTERRUPTED else job.state

    async def pause(self, job: Job) -> str:
        self._check_ours(job)
        state, worker = await self._state(job), self.worker_on(job)
        if state in ENDED:
            raise UsageError(nothing_to("pause", job, state))
        if worker is None:
            ways = f"`shoal resume {job.id}` continues it, `shoal cancel {job.id}` ends it"
            raise UsageError(f"{nothing_to('pause', job, state)}; {ways}")
        await self.frontier.pause(job.id)
        return f"job {job.id} is paused; process {worker.pid} waits"

    async def resume(self, job: Job) -> str | None:
        self._check_ours(job)
        if self.has_ended(job):
            raise UsageError(f"{nothing_to('resume', job, job.state)}; `shoal crawl` starts another")
        worker = self.worker_on(job)
        if worker is None:
            return None
        await self.frontier.resume(job.id)
        return f"job {job.id} continues in process {worker.pid}"

    def has_ended(self, job: Job) -> bool:
        """Whether nothing is left to do: a kill may have left a spider's `on_finish`, or items for a sink."""
        if job.state not in ENDED:
            return False
        # Imported here: a crawl that goes on need not know, and SQLAlchemy comes with them.
        from shoal.store.crawl.job_hooks import on_finish_waits
        from shoal.store.crawl.sink_state import sinks_behind

        if on_finish_waits(self.store, job.id):
            return False
        return not job.spec.sinks or not sinks_behind(self.store, job.id)

    async def change(self, job: Job, fields: Mapping[str, Any]) -> None:
        self._check_ours(job)
        # No process works on it now; the next one sends the stored terms to the frontier.
        with self.lock_of(job.id).held():
            change_spec(
                self.store,
                job.id,
                lambda spec: check_patterns(spec.with_fields(fields)),
                None,
                time.time(),
                JobState.INTERRUPTED,
            )

    async def cancel(self, job: Job) -> str:
        self._check_ours(job)
        if job.state in ENDED:
            raise UsageError(nothing_to("cancel", job, job.state))
        worker = self.worker_on(job)
        with nullcontext() if worker else self._held(job):
            # Requests that a killed process had leased return to the queue, so that the job's figures add up.
            if worker is None and job.started_at:
                await self.take_over(job.id)
            if worker is not None or job.started_at:
                await self.frontier.cancel(job.id)
            # Stored here even if a process works on the job: if that process were killed before it saw the
            # cancellation, the job would look resumable.
            set_state(self.store, job.id, JobState.CANCELLED, time.time())
        what_next = f"; process {worker.pid} saves what is in flight and ends" if worker is not None else ""
        return f"job {job.id} is cancelled{what_next}"

    async def remove(self, job: Job) -> None:
        self._check_ours(job)
        if (worker := self.worker_on(job)) is not None:
            raise UsageError(f"process {worker.pid} crawls job {job.id}: `shoal cancel {job.id}` first")
        # Imported here only: a crawl does not need it.
        from shoal.store.job_removal import remove_job

        with self.at_rest(job):
            # The frontier does not know a job that never began.
            with suppress(FrontierLost):
                await self.frontier.erase(job.id)
            # A killed process left segments in its spool: they go with the others.
            adopt(self.store, self.archive)
            remove_job(self.store, self.archive, job)

    @contextmanager
    def at_rest(self, job: Job) -> Iterator[None]:
        self._check_ours(job)
        with self._held(job):
            yield

    @asynccontextmanager
    async def reopened(self, job: Job) -> AsyncIterator[JobState]:
        self._check_ours(job)
        # If the job ended meanwhile, it would forget the revived requests.
        with self.lock_of(job.id).held():
            yield JobState.INTERRUPTED

    @contextmanager
    def _held(self, job: Job) -> Iterator[None]:
        """Holds the lock of a job. If the job has ended then, or is gone, its files go too."""
        lock = self.lock_of(job.id)
        with lock.held():
            yield
            try:
                has_ended = load_job(self.store, job.id).state in ENDED
            except UnknownJob:
                has_ended = True
            if has_ended:
                lock.remove_when_released()

    def _check_ours(self, job: Job) -> None:
        if job.fleet:
            raise UsageError(f"job {job.id}: {self._way_to_the_fleet}")
