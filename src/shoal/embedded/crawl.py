"""One run of a job in this process, from the lock on its home to its report."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shoal import __version__
from shoal.embedded.home import Home
from shoal.embedded.overview import Overview, overview
from shoal.engine.engine import Engine
from shoal.engine.work import Work
from shoal.errors import DiskFull, UsageError
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.frontier.contract import Caller, Terms
from shoal.model import JobSpec, JobState, Offer, Target
from shoal.store.archive.recorder import Recorder
from shoal.store.inputs import seed_targets
from shoal.store.jobs import Job, add_seconds, load_job, mark_seeded, set_state
from shoal.store.quality import last_quality, measure_quality, verdict
from shoal.store.remembered import load_cookies
from shoal.store.store import Store
from shoal.store.writer import Writer
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.engine.callbacks import Callbacks
    from shoal.spiders.spider import Spider

SEEDS_AT_ONCE = 1_000
OPEN_FILES_WANTED = 65_536
SECONDS_COUNTED_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Report:
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
        self._recorder: Recorder | None = None
        self.engine = Engine(self._frontier, self._writer, home.mark, concurrency, f"crawl-{os.getpid()}-{time.time()}")

    async def run(self) -> Report:
        raise_open_files()
        with self._home.locked(self.job_id):
            try:
                return await self._run(load_job(self._home.store, self.job_id))
            finally:
                self._writer.close()
                if self._recorder is not None:
                    self._recorder.close()

    async def _run(self, job: Job) -> Report:
        # Before anything is changed: what cannot be loaded leaves the job as it is.
        callbacks = callbacks_of(job.spec, self._spider)
        await self._take_over(job)
        fetcher = Fetcher(job.spec.agent, Guard(job.spec.allow_private))
        started = time.time()
        counting = asyncio.create_task(self._count_seconds(job.id))
        rest: str | None = None
        try:
            rest = await self._work_on(job, fetcher, callbacks)
        except DiskFull:
            # A stop that cannot be written down is one all the same.
            if not self.engine.stopping:
                raise
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
            # With a full disk neither can be written: a running job whose home nobody holds is an interrupted one.
            with suppress(DiskFull):
                await self._frontier.pause(job.id)
                if rest is None:
                    set_state(self._home.store, job.id, JobState.INTERRUPTED, time.time())
            await fetcher.aclose()
        if rest is not None:
            await self._end(job, rest)
        seen = await overview(self._home, job.id)
        return Report(replace(seen, state=JobState.INTERRUPTED) if rest is None else seen, time.time() - started)

    async def _work_on(self, job: Job, fetcher: Fetcher, callbacks: Callbacks | None) -> str | None:
        if not await self._seed(job):
            return None
        # Only now does the job's time begin: a list of a million takes a while to be offered.
        await self._frontier.open_job(job.id, terms_of(job.spec, job.seconds))
        seeds = (target.url for part in self._seeds(job.id) for target in part)
        work = await asyncio.to_thread(Work, job.id, job.spec, job.created_at, seeds, job.admitted, fetcher, callbacks)
        work.exclusions = self._exclusions
        work.jar.load(load_cookies(self._home.store, job.id))
        if job.spec.archive:
            about = segment_about(job.id, job.spec, work.agent)
            self._recorder = work.recorder = Recorder(self._home.archive, job.id, about, job.spec.max_archive_bytes)
        self.engine.add(work)
        resting = await self.engine.run()
        if self._recorder is not None:
            # Not if the engine fails: the segment is gone on with at the next run.
            await self.engine.insist(asyncio.to_thread, self._recorder.seal)
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

    async def _take_over(self, job: Job) -> None:
        """Nobody else can be at work here: what was leased returns, and only this job may be leased from."""
        await self._frontier.open_job(job.id, terms_of(job.spec, job.seconds))
        await self._frontier.focus([job.id])
        await self._frontier.reap(self._home.mark.left_behind(), all_leases=True)
        self._home.mark.clear()
        set_state(self._home.store, job.id, JobState.RUNNING, time.time())

    async def _seed(self, job: Job) -> bool:
        """Offers the job's inputs; False if it was stopped before all were."""
        # A frontier that knows nothing of a job whose inputs were offered has been lost.
        if job.seeded and (await self._frontier.figures(job.id)).found:
            return True
        caller = Caller(f"seed-{job.id}-{time.time()}")

        async def offer(targets: list[Target]) -> None:
            await self._frontier.offer(caller.next(), [Offer(job.id, targets)])

        for targets in self._seeds(job.id):
            await self.engine.insist(offer, targets)
            await asyncio.sleep(0)
            if self.engine.stopping:
                return False
        mark_seeded(self._home.store, job.id)
        return True

    def _seeds(self, job_id: str) -> Iterator[list[Target]]:
        line = -1
        while part := seed_targets(self._home.store, job_id, line, SEEDS_AT_ONCE):
            line = part[-1].line
            yield [given.target for given in part if given.target is not None]

    async def _end(self, job: Job, rest: str) -> None:
        figures = await self._frontier.figures(job.id)
        state, reason = ended(rest, job.spec, figures.pages, figures.dead)
        if state in (JobState.DONE, JobState.LIMITED):
            poor = judge_quality(self._home.store, job)
            state, reason = (JobState.FAILED, poor) if poor else (state, reason)
        set_state(self._home.store, job.id, state, time.time(), reason)
        # Dead letters may be tried again, and must not lead to what the job has already.
        if rest == "empty" and not figures.dead:
            await self._frontier.forget(job.id)
        elif rest == "cancelled":
            await self._frontier.cancel(job.id)


def judge_quality(store: Store, job: Job) -> str | None:
    """Measures the items of a job, and says what about them is not as was asked."""
    if job.spec.spider is None and job.spec.rules is None:
        return None
    return verdict(job.spec, measure_quality(store, job.id), last_quality(store, job.spec.name, job.id))


def callbacks_of(spec: JobSpec, spider: Spider | None) -> Callbacks | None:
    """The spider is loaded anew for every run, so that a mended file is what runs after a `dead --retry`."""
    if spider is None and spec.spider is None and spec.rules is None:
        return None
    # Only here: what spiders need takes a tenth of a second to load.
    from shoal.engine.callbacks import Callbacks
    from shoal.spiders import rules
    from shoal.spiders.loading import load_spider

    if spider is None:
        spider = rules.from_json(spec.rules) if spec.rules is not None else load_spider(spec.spider or "")
    return Callbacks(spider)


def ended(rest: str, spec: JobSpec, pages: int, dead: int) -> tuple[JobState, str | None]:
    """The state a job ends in, and why, by what it rests for."""
    if rest == "cancelled":
        return JobState.CANCELLED, None
    if pages == 0 and rest == "empty":
        return JobState.FAILED, "no page could be fetched"
    if spec.max_failure_rate is not None and dead > spec.max_failure_rate * (pages + dead):
        return JobState.FAILED, f"{dead / (pages + dead):.1%} of requests are dead letters"
    if rest == "empty":
        return JobState.DONE, None
    return JobState.LIMITED, f"its limit of {rest} is reached"


def segment_about(job_id: str, spec: JobSpec, agent: str) -> dict[str, str]:
    """What each segment of the archive says of its origin."""
    return {
        "software": f"shoal/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": job_id,
        "robots": "obey" if spec.politeness.robots else "ignore",
        "http-header-user-agent": agent,
    }


def terms_of(spec: JobSpec, seconds_used: float) -> Terms:
    limits, politeness = spec.limits, spec.politeness
    return Terms(
        lane=spec.lane,
        priority=spec.priority,
        gap_s=politeness.gap_s,
        per_host=politeness.per_host,
        robots=politeness.robots,
        pages=limits.pages,
        pages_per_host=limits.pages_per_host,
        bytes=limits.bytes,
        stop_at=None if limits.seconds is None else time.time() + limits.seconds - seconds_used,
    )


def resumable(job: Job, state: JobState) -> None:
    """Raises UsageError, with the way out, for a job that cannot go on."""
    if state in (JobState.DONE, JobState.CANCELLED, JobState.FAILED):
        raise UsageError(f"job {job.id} is {state}: there is nothing to resume; `shoal crawl` starts another")


def raise_open_files() -> None:
    """A crawl holds a connection per host in play; the usual soft limit is far below what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_WANTED)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
