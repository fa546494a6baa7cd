"""One run of a job in this process, from the lock on its home to its report."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from shoal.embedded.home import Home
from shoal.engine.beginning import callbacks_of, seeds_of, terms_of, work_on
from shoal.engine.engine import Engine
from shoal.engine.finishing import finish
from shoal.errors import DiskFull
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.fetch.open_files import raise_open_files
from shoal.jobs.overview import Overview, overview
from shoal.model import JobState, Offer
from shoal.store.archive.sending import adopt
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.jobs import Job, add_seconds, load_job, mark_seeded, set_state
from shoal.store.writer import Writer
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.engine.callbacks import Callbacks
    from shoal.spiders.spider import Spider

SECONDS_COUNTED_EVERY_S = 5.0
WAITING_TOLD_EVERY_S = 1.0


class Report(NamedTuple):
    """How a run ended."""

    overview: Overview
    seconds: float
    """Of this run."""


class Crawl:
    """Make one, `await run()`; `engine` is there to be watched and stopped while it does."""

    def __init__(
        self,
        home: Home,
        job_id: str,
        concurrency: int,
        exclusions: Exclusions,
        spider: Spider | None = None,
    ) -> None:
        """A spider that is at hand need not be loaded by what the job says of it."""
        self._home = home
        self._spider = spider
        self._exclusions = exclusions
        self.job_id = job_id
        self._frontier = home.frontier
        self._writer = Writer(home.store)
        self._spools = Spools(home.archive, socket.gethostname(), ALONE)
        self.engine = Engine(self._frontier, self._writer, home.mark, concurrency, f"crawl-{os.getpid()}-{time.time()}")

    async def run(self) -> Report:
        raise_open_files()
        with self._home.lock.held(self.job_id):
            try:
                return await self._run(load_job(self._home.store, self.job_id))
            finally:
                self._writer.close()
                self._spools.close()

    async def _run(self, job: Job) -> Report:
        # Before anything is changed: what cannot be loaded leaves the job as it is.
        callbacks = callbacks_of(job.spec, self._spider)
        await self._take_over(job)
        fetcher = Fetcher(job.spec.agent, Guard(job.spec.allow_private))
        started = time.time()
        beside = [asyncio.create_task(work) for work in (self._count_seconds(job.id), self._tell_waiting())]
        rest: str | None = None
        try:
            rest = await self._work_on(job, fetcher, callbacks)
        except DiskFull:
            # A stop that cannot be written down is one all the same.
            if not self.engine.stopping:
                raise
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            # With a full disk neither can be written: a running job whose home nobody holds is an interrupted one.
            with suppress(DiskFull):
                await self._frontier.pause(job.id)
                if rest is None:
                    set_state(self._home.store, job.id, JobState.INTERRUPTED, time.time())
            await fetcher.aclose()
        if rest is not None:
            await finish(self._frontier, self._home.store, job, rest)
        seen = await overview(self._home, job.id)
        if rest is None:
            seen = replace(seen, state=JobState.INTERRUPTED, limiting=None)
        return Report(seen, time.time() - started)

    async def _work_on(self, job: Job, fetcher: Fetcher, callbacks: Callbacks | None) -> str | None:
        if not await self._seed(job):
            return None
        # Only now does the job's time begin: a list of a million takes a while to be offered.
        await self._frontier.open_job(job.id, terms_of(job.spec, job.seconds))
        home = self._home
        work = await asyncio.to_thread(work_on, job, home.store, self._spools, fetcher, callbacks)
        work.exclusions = self._exclusions
        self.engine.add(work)
        resting = await self.engine.run()
        # Not if the engine fails: the next run takes over what this one leaves in the spool.
        await self.engine.insist(asyncio.to_thread, self._spools.seal_all, home.store)
        return resting.get(job.id)

    async def _count_seconds(self, job_id: str) -> None:
        """Every few seconds, so that a kill loses little of the count."""
        counted = time.monotonic()
        try:
            while True:
                await asyncio.sleep(SECONDS_COUNTED_EVERY_S)
                now = time.monotonic()
                await self.engine.insist(self._writer.run, add_seconds, job_id, now - counted)
                counted = now
        finally:
            add_seconds(self._home.store, job_id, time.monotonic() - counted)

    async def _tell_waiting(self) -> None:
        """To other terminals, by the lock: what the crawl waits for is nothing that a database could take."""
        try:
            while True:
                await asyncio.sleep(WAITING_TOLD_EVERY_S)
                self._home.lock.tell(self.engine.waiting_for, self.engine.reading_notes().get(self.job_id))
        finally:
            self._home.lock.tell(None)

    async def _take_over(self, job: Job) -> None:
        """Nobody else can be at work here: what was leased returns, and only this job may be leased from."""
        await self._frontier.open_job(job.id, terms_of(job.spec, job.seconds))
        await self._frontier.focus([job.id])
        await self._frontier.reap(self._home.mark.left_behind(), all_leases=True)
        self._home.mark.clear()
        await asyncio.to_thread(adopt, self._home.store, self._home.archive)
        set_state(self._home.store, job.id, JobState.RUNNING, time.time())

    async def _seed(self, job: Job) -> bool:
        """Offers the job's inputs; False if it was stopped before all were."""
        # A frontier that knows nothing of a job whose inputs were offered has been lost.
        if job.seeded and (await self._frontier.figures(job.id)).found:
            return True
        for targets in seeds_of(self._home.store, job.id):
            await self.engine.offer([Offer(job.id, targets)])
            await asyncio.sleep(0)
            if self.engine.stopping:
                return False
        mark_seeded(self._home.store, job.id)
        return True
