"""Advances each job of a fleet from its first seed to its end: loads it into the frontier, counts its run time, and
finishes it. If the frontier was lost, it loads all running jobs again.

Long work runs in the background, so that small jobs do not wait for big ones. Interrupted work is repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any

from shoal.engine.job_finish import finish
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.errors import Unavailable, UnknownJob
from shoal.fleet.load_frontier import FrontierRestorer
from shoal.fleet.patch_job import send_terms
from shoal.fleet.series_recorder import SeriesRecorder
from shoal.frontier.redis import RedisFrontier
from shoal.model import JobState
from shoal.model.options import bound_of
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.offer_log import forget_offers
from shoal.store.fleet.host_overrides import stored_overrides
from shoal.store.job_changes import add_seconds
from shoal.store.jobs import Job, load_job
from shoal.telemetry import EventLogger

COUNT_EVERY_S = 10.0
_BROUGHT_IN = {"seeded": "job {}: the start URLs are queued", "restored": "job {}: the queue is restored"}

log = EventLogger(__name__)


class JobLifecycle:
    def __init__(
        self,
        frontier: RedisFrontier,
        async_store: AsyncStore,
        outages: OutageRetry,
        caller: str,
        ring: Callable[[], None],
    ) -> None:
        """`ring` starts the next round at once."""
        self._frontier = frontier
        self._async_store = async_store
        self._ring = ring
        frontier_client = FrontierClient(frontier, caller, outages)
        self._overflow = Overflow(frontier_client, async_store, outages)
        self._restoring = FrontierRestorer(frontier, frontier_client, self._overflow, async_store)
        self._bringing_in: dict[str, asyncio.Task[bool]] = {}
        """The jobs that are being seeded or rebuilt."""
        self._rebuilt: list[asyncio.Task[bool]] | None = None
        """The tasks that rebuild a lost frontier."""
        self.fault: BaseException | None = None
        """An unexpected exception of a background task: tend exits with it, and its supervisor restarts it."""
        self._counted_at: dict[str, float] = {}
        self._series = SeriesRecorder(frontier, async_store)

    @property
    def running(self) -> Collection[asyncio.Task[bool]]:
        """The background tasks that load jobs into the frontier."""
        return self._bringing_in.values()

    @property
    def moved_at(self) -> float:
        """When the last part of a job was loaded, by the monotonic clock."""
        return self._restoring.moved_at

    async def advance(self, jobs: list[Job]) -> None:
        """Advances each of the unfinished jobs by one step. Raises Unavailable."""
        ids = {job.id for job in jobs}
        self._counted_at = {id: at for id, at in self._counted_at.items() if id in ids}
        self._series.forget_others(ids)
        await self._compare_if_restarted(jobs)
        await self._restore_if_lost(jobs)
        for job in jobs:
            if job.id not in self._bringing_in:
                try:
                    await self._advance(job)
                except UnknownJob:
                    await self._erase_removed(job)

    def stop_counting(self) -> None:
        """Called when a server is away or another tend acts: this time does not count as run time."""
        self._counted_at.clear()

    async def _compare_if_restarted(self, jobs: list[Job]) -> None:
        """The frontier leases nothing until this is done."""
        if not await self._frontier.awaits_comparison():
            return
        behind = await self._restoring.erase_behind([job for job in jobs if job.started_at])
        if behind:
            jobs_are = "1 job is" if len(behind) == 1 else f"{len(behind)} jobs are"
            text = f"Redis is older than the database: {jobs_are} rebuilt, so that stored pages are not fetched again"
            log.warning("frontier_behind", text, jobs=len(behind))
        await self._restoring.erase_ended()
        await self._frontier.mark_compared()

    async def _restore_if_lost(self, jobs: list[Job]) -> None:
        """Also runs after a restart of Redis, which may have lost its last second of writes."""
        if self._rebuilt is not None:
            if not all(task.done() for task in self._rebuilt):
                return
            is_complete = all(
                not task.cancelled() and task.exception() is None and task.result() for task in self._rebuilt
            )
            self._rebuilt = None
            if is_complete:
                await self._frontier.mark_intact()
                return
        if fault := await self._frontier.broken_by():
            log.error("frontier_broken", f"the frontier in Redis is damaged; rebuilding it from the database: {fault}")
            await self._frontier.erase_all_jobs()
        if await self._frontier.is_intact():
            return
        for stored in await self._async_store.read(stored_overrides):
            await self._frontier.override(stored.host, rate=bound_of("rate").nearest(stored.rate), paused=stored.paused)
        lost = [job for job in jobs if job.started_at]
        self._rebuilt = [self._bring_in(job, "restored", self._restoring.rebuild(job)) for job in lost]
        if not lost:
            return self._ring()
        jobs_are = "1 job is" if len(lost) == 1 else f"{len(lost)} jobs are"
        text = f"Redis is empty or was restarted: {jobs_are} being restored from the database"
        log.info("frontier_lost", text, jobs=len(lost))

    async def _advance(self, job: Job) -> None:
        if job.awaits_urls:
            return
        await self._count_seconds(job, COUNT_EVERY_S)
        if job.state is JobState.PAUSED and await self._frontier.knows(job.id):
            await self._pause_frontier(job)
        if (job.seeded or job.offered_line) and not await self._frontier.knows(job.id):
            # Lost, or reopened: URLs were appended after it had ended.
            self._bring_in(job, "restored", self._restoring.rebuild(job))
        elif not job.seeded and job.state is not JobState.PAUSED:
            # Read again: its seeding may have ended since this round began.
            now = await self._async_store.read(load_job, job.id)
            if not now.seeded:
                self._bring_in(now, "seeded", self._restoring.seed(now, self._ring))
        elif job.spec.scrapy is not None:
            # Its own processes decide when it has ended.
            await self._series.record(job)
        elif job.seeded:
            if job.frontier_version != job.version:
                # The process that changed the job could not reach the frontier, or died.
                await send_terms(self._frontier, self._async_store.store, job.id)
            await self._series.record(job)
            rest = await self._frontier.idle_reason(job.id)
            brought_back = await self._overflow.offer_again(job.id)
            if rest not in (None, "paused") and not (rest == "empty" and brought_back):
                await self._finish(job, str(rest))

    async def _erase_removed(self, job: Job) -> None:
        """A job that was cancelled and removed since this round began. What the round did to it is undone."""
        with suppress(Unavailable):
            await self._frontier.erase(job.id)

    async def _pause_frontier(self, job: Job) -> None:
        """Repeats a pause that the frontier missed because it did not know the job yet. Undoes it if the operator
        resumed the job since this round began."""
        if await self._frontier.idle_reason(job.id) == "paused":
            return
        await self._frontier.pause(job.id)
        if (await self._async_store.run(load_job, job.id)).state is not JobState.PAUSED:
            await self._frontier.resume(job.id)

    def _bring_in(self, job: Job, done: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[bool]:
        """The task returns whether the work was completed; if not, the next round tries again."""

        async def until_done() -> bool:
            try:
                await work
                log.info("job_brought_in", _BROUGHT_IN[done].format(job.id), how=done, **job.about)
            except Unavailable as reason:
                log.warning("job_waits", f"job {job.id} is waiting: {reason}", **job.about)
                return False
            except UnknownJob:
                await self._erase_removed(job)
            finally:
                del self._bringing_in[job.id]
            return True

        if job.id in self._bringing_in:
            work.close()
            return self._bringing_in[job.id]
        task = self._bringing_in[job.id] = asyncio.create_task(until_done())
        task.add_done_callback(self._keep_fault)
        return task

    def _keep_fault(self, task: asyncio.Task[bool]) -> None:
        if not task.cancelled():
            self.fault = self.fault or task.exception()

    async def _finish(self, job: Job, rest: str) -> None:
        await self._count_seconds(job, 0.0)
        state = await finish(self._frontier, self._async_store.store, job, rest)
        log.info("job_ended", f"job {job.id} is {state}", state=state.value, **job.about)
        if state in (JobState.DONE, JobState.CANCELLED):
            await self._async_store.run(forget_offers, job.id)

    async def _count_seconds(self, job: Job, every_s: float) -> None:
        """Adds to the job's run time, which does not count pauses or times without a tend process."""
        now = time.monotonic()
        counted_at = self._counted_at.setdefault(job.id, now)
        if job.state is JobState.PAUSED:
            self._counted_at[job.id] = now
        elif now - counted_at > every_s:
            self._counted_at[job.id] = now
            await self._async_store.run(add_seconds, job.id, now - counted_at)
