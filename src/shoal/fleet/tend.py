"""What keeps a fleet going besides its workers: seeds new jobs, ends finished ones, returns expired leases, restores a
lost frontier, begins the jobs of schedules, tells webhooks, and publishes slices where processes rest and work is
ready.

Any number may run; one at a time holds the lock, and everything it does can be done twice without harm.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from celery import Celery

from shoal.engine.calls import Calls
from shoal.engine.finishing import finish
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.errors import FrontierFull, Unavailable
from shoal.fleet import roster, slices
from shoal.fleet.changes import tell_terms
from shoal.fleet.life import Life, bury_dead, machine
from shoal.fleet.machines import mourn_machines
from shoal.fleet.opening import Opening
from shoal.fleet.place import BELL
from shoal.fleet.restoring import Restoring
from shoal.fleet.schedules import Schedules
from shoal.fleet.trouble import Trouble
from shoal.fleet.webhooks import Webhooks
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.model import JobState, Lane
from shoal.settings import Settings
from shoal.store.archive.archive import Archive
from shoal.store.hosts import stored_words
from shoal.store.jobs import Job, add_seconds, load_job, unfinished
from shoal.store.offers import forget_offers
from shoal.store.removal import sweep_segments
from shoal.store.writer import Writer
from shoal.telemetry import Events

EVERY_S = 2.0
BEAT_EVERY_S = 1.0
MOURN_EVERY_S = 60.0
COUNT_EVERY_S = 10.0
END_S = 2.0
LOCK = f"{TAG}:tend:lock"
LOCK_S = 10.0

log = Events(__name__)


async def tend(app: Celery, settings: Settings, stopping: asyncio.Event) -> None:
    """Until stopped."""
    life = Life(settings.home, "tend")
    bury_dead(settings.home, "tend")
    opening = Opening(settings, life, stopping.is_set, Trouble(log))
    store, frontier = await opening.store(), await opening.frontier()
    if store is not None and frontier is not None:
        log.info("tend_began", f"tending; {settings.servers}")
        writer = Writer(store)
        archive = Archive.at(settings.archive_url, settings.home)
        webhooks = Webhooks(settings, writer)
        await Tend(app, frontier, writer, archive, life, stopping, Schedules(settings, writer), webhooks).run()
        await webhooks.close()
        await frontier.close()
        writer.close()
        store.close()
    life.end()


class Tend:
    def __init__(
        self,
        app: Celery,
        frontier: RedisFrontier,
        writer: Writer,
        archive: Archive,
        life: Life,
        stopping: asyncio.Event,
        schedules: Schedules,
        webhooks: Webhooks,
    ) -> None:
        self._app = app
        self._frontier = frontier
        self._connection = frontier.connection
        self._writer = writer
        self._archive = archive
        self._life = life
        self._stopping = stopping
        self._schedules = schedules
        self._webhooks = webhooks
        self._ring = asyncio.Event()
        self._patience = Patience(self._stopping, (Unavailable,))
        calls = Calls(frontier, life.id, self._patience)
        self._overflow = Overflow(calls, writer, self._patience)
        self._restoring = Restoring(frontier, calls, self._overflow, writer)
        self._bringing_in: dict[str, asyncio.Task[bool]] = {}
        """Jobs that are being seeded or rebuilt."""
        self._rebuilt: list[asyncio.Task[bool]] | None = None
        """Of a frontier that was lost; rounds go on meanwhile, so that small jobs need not wait for big ones."""
        self._fault: BaseException | None = None
        """A bug, met by what was brought in: tend ends with it, and whoever started tend starts it again."""
        self._counted_at: dict[str, float] = {}
        self._trouble = Trouble(log)
        self._rounded_at = self._mourned_at = time.monotonic()

    async def run(self) -> None:
        beside = [asyncio.create_task(work) for work in (self._listen(), self._heed_stop(), self._beat())]
        try:
            while not self._stopping.is_set():
                self._ring.clear()
                await self._unless_stopped(self._round())
                if self._fault is not None:
                    raise self._fault
                self._rounded_at = time.monotonic()
                try:
                    async with asyncio.timeout(EVERY_S):
                        await self._ring.wait()
                except TimeoutError:
                    pass
        finally:
            ending = [*beside, *self._bringing_in.values()]
            for task in ending:
                task.cancel()
            # Not for ever: on Python 3.11 a cancel that meets the end of a command of redis-py can be lost.
            await asyncio.wait(ending, timeout=END_S)
        await roster.remove(self._connection, self._life.id, LOCK)

    async def _unless_stopped(self, round: Coroutine[Any, Any, None]) -> None:
        """A round may wait long for a server; what it has begun is done once more by the next."""
        ends = {asyncio.create_task(round), asyncio.create_task(self._stopping.wait())}
        done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for task in done:
            task.result()

    async def _round(self) -> None:
        try:
            await roster.write(self._connection, roster.Entry(self._life.id, "tend", machine(), os.getpid()))
            if await self._holds_lock():
                await self._tend()
            else:
                self._counted_at.clear()
            self._trouble.over()
        except Unavailable as reason:
            # Time in which nothing could be done is not counted.
            self._counted_at.clear()
            self._trouble.waits(str(reason))
            if isinstance(reason, FrontierFull):
                await self._make_room()

    async def _make_room(self) -> None:
        """What a full Redis allows: leases that expired return, and the keys of ended jobs go."""
        with suppress(Unavailable):
            await self._frontier.reap()

    async def _holds_lock(self) -> bool:
        mine = self._life.id.encode()
        if await self._connection.command("SET", LOCK, mine, "NX", "PX", int(LOCK_S * 1000)):
            return True
        if await self._connection.command("GET", LOCK) != mine:
            return False
        await self._connection.command("PEXPIRE", LOCK, int(LOCK_S * 1000))
        return True

    async def _tend(self) -> None:
        await self._schedules.fire()
        jobs = await self._writer.read(unfinished)
        ids = {job.id: job for job in jobs}
        self._counted_at = {id: at for id, at in self._counted_at.items() if id in ids}
        await self._restore_if_lost(jobs)
        for job in jobs:
            if job.id not in self._bringing_in:
                await self._look_after(job)
        await self._frontier.reap()
        await self._fill()
        await self._webhooks.deliver()
        if time.monotonic() > self._mourned_at + MOURN_EVERY_S and not self._bringing_in:
            self._mourned_at = time.monotonic()
            living = {entry.machine for entry in await roster.entries(self._connection)}
            await mourn_machines(self._writer, self._frontier, self._archive, living, ids)
            await self._writer.run(sweep_segments, self._archive)

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
        if await self._frontier.is_whole():
            return
        for word in await self._writer.read(stored_words):
            await self._frontier.override(word.host, rate=word.rate, paused=word.paused)
        lost = [job for job in jobs if job.started_at]
        self._rebuilt = [self._bring_in(job, "restored", self._restoring.rebuild(job)) for job in lost]
        words = f"Redis is new, or was restarted: {len(lost)} jobs are restored from the store"
        log.info("frontier_lost", words, jobs=len(lost))
        if not lost:
            self._ring.set()

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
                self._bring_in(now, "seeded", self._restoring.seed(now, self._ring.set))
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
            self._fault = self._fault or task.exception()

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

    async def _fill(self) -> None:
        wanting = {lane for lane in Lane if await self._is_ready(lane)}
        if not wanting:
            return
        for lane, idle in slices.gaps(await roster.entries(self._connection), wanting).items():
            missing = idle - await asyncio.to_thread(slices.waiting, self._app, lane) if idle else 0
            if missing > 0:
                await asyncio.to_thread(slices.publish, self._app, lane, missing)

    async def _is_ready(self, lane: Lane) -> bool:
        return slices.is_work(await self._frontier.next_ready_in([lane]))

    async def _beat(self) -> None:
        """A round may take long while much is brought in, as long as that moves."""
        while True:
            waiting_for = self._patience.waiting_for or self._trouble.reason
            moved_at = max(self._rounded_at, self._restoring.moved_at)
            self._life.progressed(time.monotonic() if waiting_for else moved_at, waiting_for)
            await asyncio.sleep(BEAT_EVERY_S)

    async def _heed_stop(self) -> None:
        await self._stopping.wait()
        self._ring.set()

    async def _listen(self) -> None:
        async for _ in self._connection.rings(BELL):
            self._ring.set()
