"""The jobs of a fleet, each from its seeding to its end: brought into the frontier, counted, finished; and all of them
brought in anew if the frontier was lost.

What takes long goes on beside the rounds, so that small jobs need not wait for big ones; whatever is broken off is
done once more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from shoal.engine.calls import Calls
from shoal.engine.finishing import finish
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.errors import Unavailable
from shoal.fleet.changes import tell_terms
from shoal.fleet.restoring import Restoring
from shoal.frontier.redis import RedisFrontier
from shoal.model import JobState
from shoal.model.bounds import within
from shoal.store.hosts import stored_words
from shoal.store.jobs import Job, add_seconds, load_job
from shoal.store.offers import forget_offers
from shoal.store.writer import Writer
from shoal.telemetry import Events

COUNT_EVERY_S = 10.0

log = Events(__name__)


class Care:
    def __init__(
        self, frontier: RedisFrontier, writer: Writer, patience: Patience, caller: str, ring: Callable[[], None]
    ) -> None:
        """`ring` asks for the next round at once."""
        self._frontier = frontier
        self._writer = writer
        self._ring = ring
        calls = Calls(frontier, caller, patience)
        self._overflow = Overflow(calls, writer, patience)
        self._restoring = Restoring(frontier, calls, self._overflow, writer)
        self._bringing_in: dict[str, asyncio.Task[bool]] = {}
        """Jobs that are being seeded or rebuilt."""
        self._rebuilt: list[asyncio.Task[bool]] | None = None
        """Of a frontier that was lost."""
        self.fault: BaseException | None = None
        """A bug, met by what was brought in: tend ends with it, and whoever started tend starts it again."""
        self._counted_at: dict[str, float] = {}

    @property
    def under_way(self) -> Collection[asyncio.Task[bool]]:
        """What is being brought in."""
        return self._bringing_in.values()

    @property
    def moved_at(self) -> float:
        """By the monotonic clock: when the last part of a job was brought in."""
        return self._restoring.moved_at

    async def take(self, jobs: list[Job]) -> None:
        """One round: a look at each of them. Raises Unavailable."""
        ids = {job.id for job in jobs}
        self._counted_at = {id: at for id, at in self._counted_at.items() if id in ids}
        await self._compare_if_restarted(jobs)
        await self._restore_if_lost(jobs)
        for job in jobs:
            if job.id not in self._bringing_in:
                await self._look_after(job)

    def stop_counting(self) -> None:
        """Time in which nothing can be done, or another tends, is not counted here."""
        self._counted_at.clear()

    async def _compare_if_restarted(self, jobs: list[Job]) -> None:
        """Until this is done nothing is leased."""
        if not await self._frontier.awaits_comparison():
            return
        behind = await self._restoring.erase_behind([job for job in jobs if job.started_at])
        if behind:
            jobs_are = "1 job is" if len(behind) == 1 else f"{len(behind)} jobs are"
            words = f"Redis is behind the store: {jobs_are} made anew, so that nothing that is stored is fetched again"
            log.warning("frontier_behind", words, jobs=len(behind))
        await self._restoring.erase_ended()
        await self._frontier.declare_compared()

    async def _restore_if_lost(self, jobs: list[Job]) -> None:
        """Also after a restart of Redis, which may have lost its last second."""
        if self._rebuilt is not None:
            if not all(task.done() for task in self._rebuilt):
                return
            whole = all(not task.cancelled() and task.exception() is None and task.result() for task in self._rebuilt)
            self._rebuilt = None
            if whole:
                await self._frontier.declare_whole()
                return
        if fault := await self._frontier.broken_by():
            log.error("frontier_broken", f"the frontier cannot be used, and is made again from the store: {fault}")
            await self._frontier.start_over()
        if await self._frontier.is_whole():
            return
        for word in await self._writer.read(stored_words):
            await self._frontier.override(word.host, rate=within("rate", word.rate), paused=word.paused)
        lost = [job for job in jobs if job.started_at]
        self._rebuilt = [self._bring_in(job, "restored", self._restoring.rebuild(job)) for job in lost]
        if not lost:
            return self._ring()
        jobs_are = "1 job is" if len(lost) == 1 else f"{len(lost)} jobs are"
        words = f"Redis is new, or was restarted: {jobs_are} restored from the store"
        log.info("frontier_lost", words, jobs=len(lost))

    async def _look_after(self, job: Job) -> None:
        if job.awaits_urls:
            return
        await self._count_seconds(job, COUNT_EVERY_S)
        if job.state is JobState.PAUSED and await self._frontier.knows(job.id):
            await self._hold_still(job)
        if (job.seeded or job.offered_line) and not await self._frontier.knows(job.id):
            # Lost, or taken up again: URLs were appended when it had ended.
            self._bring_in(job, "restored", self._restoring.rebuild(job))
        elif not job.seeded and job.state is not JobState.PAUSED:
            # As it is now: its seeding may have ended since this round began.
            now = await self._writer.read(load_job, job.id)
            if not now.seeded:
                self._bring_in(now, "seeded", self._restoring.seed(now, self._ring))
        elif job.seeded:
            if job.told != job.version:
                # Whoever changed it could not, or died.
                await tell_terms(self._frontier, self._writer.store, job.id)
            rest = await self._frontier.rest(job.id)
            brought_back = await self._overflow.bring_back(job.id)
            if rest not in (None, "paused") and not (rest == "empty" and brought_back):
                await self._finish(job, str(rest))

    async def _hold_still(self, job: Job) -> None:
        """The word may have come between the frontier's learning of the job and the store's, or been taken back since
        this round began."""
        if await self._frontier.rest(job.id) == "paused":
            return
        await self._frontier.pause(job.id)
        if (await self._writer.run(load_job, job.id)).state is not JobState.PAUSED:
            await self._frontier.resume(job.id)

    def _bring_in(self, job: Job, done: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[bool]:
        """Says whether it came to its end; if not, it is tried again at the next round."""

        async def until_done() -> bool:
            try:
                await work
                log.info("job_brought_in", f"job {job.id} is {done}", how=done, **job.about)
            except Unavailable as reason:
                log.warning("job_waits", f"job {job.id} waits: {reason}", **job.about)
                return False
            finally:
                del self._bringing_in[job.id]
            return True

        if job.id in self._bringing_in:
            work.close()
            return self._bringing_in[job.id]
        task = self._bringing_in[job.id] = asyncio.create_task(until_done())
        task.add_done_callback(self._heed_fault)
        return task

    def _heed_fault(self, task: asyncio.Task[bool]) -> None:
        if not task.cancelled():
            self.fault = self.fault or task.exception()

    async def _finish(self, job: Job, rest: str) -> None:
        await self._count_seconds(job, 0.0)
        state = await finish(self._frontier, self._writer.store, job, rest)
        log.info("job_ended", f"job {job.id} is {state}", state=state.value, **job.about)
        if state in (JobState.DONE, JobState.CANCELLED):
            await self._writer.run(forget_offers, job.id)

    async def _count_seconds(self, job: Job, every_s: float) -> None:
        """How long the job is worked on; not while it is paused, nor while nobody tends it."""
        now = time.monotonic()
        counted_at = self._counted_at.setdefault(job.id, now)
        if job.state is JobState.PAUSED:
            self._counted_at[job.id] = now
        elif now - counted_at > every_s:
            self._counted_at[job.id] = now
            await self._writer.run(add_seconds, job.id, now - counted_at)
