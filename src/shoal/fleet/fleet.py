"""The fleet as a deployment of jobs: its store, its frontier in Redis, its archive, and the control of its jobs.

Connections are opened when they are first needed. A server that does not answer within two seconds raises an error
with its name and address. Celery is not imported here: commands read and control jobs without it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.errors import FrontierFull, FrontierLost, Unavailable, UsageError
from shoal.fleet.blockers import archive_note, find_blocker, missing_browser, partly_unloadable, slow_reading
from shoal.fleet.patch_job import change_job
from shoal.fleet.roster import RosterEntry, entries
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.frontier.redis.shard import TAG
from shoal.jobs.deployment import JobStatus, figures_from_store, make_folder, nothing_to
from shoal.model import ENDED, Figures, JobState
from shoal.settings import Settings
from shoal.store.archive.archive_folders import Archive
from shoal.store.crawl.offer_log import forget_offers
from shoal.store.job_removal import remove_job
from shoal.store.job_state import set_state_unless_ended
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store

BELL = f"{TAG}:tend"
"""The Redis channel that wakes tend for a round at once."""
KNOWN_S = 1.0
"""How long the roster and the state of Redis are cached, so that they are not read again for every job."""
_BOUNDS = PoolLimits(connections=2, answer_s=2.0, patience_s=2.0)


async def wake_tend(connection: RedisConnection) -> None:
    await connection.command("PUBLISH", BELL, "")


@dataclass(frozen=True, slots=True)
class _FleetState:
    """What can block any job of the fleet."""

    at: float
    full: str | None
    """The error message if Redis is full."""
    roster: list[RosterEntry]

    def blocker(self, job: Job, figures: Figures) -> str | None:
        # First: workers cannot write their roster entries into a full Redis.
        return self.full or find_blocker(job, figures, self.roster)


class Fleet:
    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        """`close` leaves a given store open."""
        if settings.redis_url is None:
            raise UsageError(
                "there is no fleet: SHOAL_REDIS_URL is not set; `shoal up` starts a fleet on this machine, and "
                "`shoal crawl` needs none"
            )
        self._redis_url = settings.redis_url
        self.settings = settings
        self._given_store = store
        self._known: _FleetState | None = None
        self.archive = Archive.at(settings.archive_url, settings.home, settings.spool_bytes)

    @cached_property
    def store(self) -> Store:
        if self._given_store is not None:
            return self._given_store
        if self.settings.database_url is not None:
            return Store.open(self.settings.database_url)
        make_folder(self.settings.home)
        return Store.open(self.settings.home / "shoal.db")

    @cached_property
    def frontier(self) -> RedisFrontier:
        return RedisFrontier(self._redis_url, _BOUNDS)

    async def close(self) -> None:
        self.archive.close()
        if frontier := self.__dict__.pop("frontier", None):
            await frontier.close()
        store = self.__dict__.pop("store", None)
        if store is not None and store is not self._given_store:
            store.close()

    async def ring(self) -> None:
        """Wakes tend at once; without it, tend would notice a change a few seconds later."""
        await wake_tend(self.frontier.connection)

    async def job_status(self, job: Job) -> JobStatus:
        paused, lost, limiting, ready_hosts = job.state is JobState.PAUSED, None, None, None
        try:
            figures, rest, limiting, ready_hosts = await self.frontier.inspect_job(job.id)
            paused = paused or rest == "paused"
        except FrontierLost as error:
            # The job has not started, was erased at its end, or is being restored.
            figures = await asyncio.to_thread(figures_from_store, self.store, job.id) if job.started_at else Figures()
            lost = str(error) if job.started_at else None
        if job.state in ENDED:
            return JobStatus(job, job.state, figures, job.reason)
        if paused:
            return JobStatus(job, JobState.PAUSED, figures, None)
        if job.awaits_urls and job.spec.scrapy_run is None:
            return JobStatus(job, JobState.WAITING, figures, f"it has no URLs yet: POST /api/v1/jobs/{job.id}/urls")
        if way_on := await self._without_process(job):
            state = JobState.INTERRUPTED if job.spec.scrapy_run is None else JobState.WAITING
            return JobStatus(job, state, figures, way_on)
        blocker = lost if job.spec.scrapy is not None else await self._blocker(job, figures) or lost
        if blocker:
            return JobStatus(job, JobState.WAITING, figures, blocker)
        roster = self._known.roster if self._known else []
        limiting = missing_browser(job, figures, roster) or limiting
        limiting = slow_reading(job, roster) or partly_unloadable(job, roster) or archive_note(roster) or limiting
        if job.state is not JobState.RUNNING:
            return JobStatus(job, job.state, figures, None)
        return JobStatus(job, job.state, figures, limiting, ready_hosts=ready_hosts)

    async def _blocker(self, job: Job, figures: Figures) -> str | None:
        known = self._known
        if known and time.monotonic() - known.at < KNOWN_S and not known.blocker(job, figures):
            return None
        # Never report a problem from the cache: it may be over.
        connection = self.frontier.connection
        full = str(FrontierFull(connection.address)) if await connection.memory_is_full() else None
        self._known = _FleetState(time.monotonic(), full, await entries(connection))
        return self._known.blocker(job, figures)

    async def pause(self, job: Job) -> str:
        _check_not_ended("pause", job)
        # If the frontier does not know the job, because it is new or lost, tend loads it after it is resumed.
        with suppress(FrontierLost):
            await self.frontier.pause(job.id)
        self._steer("pause", job, JobState.PAUSED)
        return f"job {job.id} is paused; workers finish their requests in flight"

    async def resume(self, job: Job) -> str:
        _check_not_ended("resume", job)
        # The store first: tend pauses every job in the frontier that the store calls paused.
        self._steer("resume", job, JobState.RUNNING if job.started_at else JobState.QUEUED)
        with suppress(FrontierLost):
            await self.frontier.resume(job.id)
        await self.ring()
        if way_on := await self._without_process(job):
            return f"job {job.id} may continue, but {way_on}"
        return f"job {job.id} continues"

    async def _without_process(self, job: Job) -> str | None:
        """How to continue a Scrapy crawl on which no process works."""
        if job.spec.scrapy is None or await OwnWorkers(self.frontier.connection, job.id).alive():
            return None
        if (run := job.spec.scrapy_run) is not None:
            wanted = run.project if run.package is None else "SHOAL_SCRAPY_UPLOADS=on"
            return f"no process works on it: it needs a worker that has {wanted} and room (SHOAL_SCRAPY_PROCESSES)"
        return f"no process works on it: `scrapy crawl {job.spec.scrapy} -s SHOAL_JOB={job.id}` continues it"

    async def change(self, job: Job, fields: Mapping[str, Any]) -> None:
        await change_job(self, job.id, lambda spec: spec.with_fields(fields), None)

    async def cancel(self, job: Job) -> str:
        _check_not_ended("cancel", job)
        with suppress(FrontierLost):
            await self.frontier.cancel(job.id)
        self._steer("cancel", job, JobState.CANCELLED)
        # Offers are kept only to rebuild the frontier, and a cancelled job is never rebuilt.
        forget_offers(self.store, job.id)
        await self.ring()
        return f"job {job.id} is cancelled; workers save their requests in flight"

    async def remove(self, job: Job) -> None:
        if job.state not in ENDED:
            raise UsageError(f"job {job.id} is {job.state}: `shoal cancel {job.id}` first")
        with suppress(FrontierLost):
            if (await self.frontier.figures(job.id)).leased:
                raise Unavailable(f"workers are still saving requests of job {job.id}: try again in a few seconds")
            await self.frontier.erase(job.id)
        await asyncio.to_thread(remove_job, self.store, self.archive, job)

    def _steer(self, verb: str, job: Job, state: JobState) -> None:
        if not set_state_unless_ended(self.store, job.id, state, time.time()):
            raise UsageError(nothing_to(verb, job, load_job(self.store, job.id).state))

    @contextmanager
    def at_rest(self, job: Job) -> Iterator[None]:
        if job.state not in ENDED:
            raise Unavailable(
                f"job {job.id} is {job.state}: wait until it has ended (`shoal watch {job.id}`), or cancel it "
                f"(`shoal cancel {job.id}`)"
            )
        yield

    @asynccontextmanager
    async def reopened(self, job: Job) -> AsyncIterator[JobState]:
        yield JobState.RUNNING
        # Workers load the spider again: it may have been fixed.
        await self.frontier.touch(job.id)
        await self.ring()


def _check_not_ended(verb: str, job: Job) -> None:
    if job.state in ENDED:
        raise UsageError(nothing_to(verb, job, job.state))
