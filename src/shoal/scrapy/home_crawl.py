"""A crawl in the home: one process, the frontier in SQLite, and the lock that keeps other processes from the job."""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from shoal.embedded.home import Home, caller_of
from shoal.engine.job_finish import finish
from shoal.engine.job_start import terms_of
from shoal.errors import FrontierLost, UsageError
from shoal.frontier.contract import Frontier, Terms
from shoal.jobs.job_id import new_job_id
from shoal.model import ENDED, JobState
from shoal.scrapy.cookie_jars import CookieKeeper
from shoal.scrapy.crawl_job import CrawlPlan, existing_or_new, unfinished_job
from shoal.scrapy.inline_leases import inline_job
from shoal.settings import Settings
from shoal.sinks.run_sinks import JobSinks
from shoal.store.job_state import set_state, set_state_unless_ended
from shoal.store.jobs import Job
from shoal.store.store import Store

SINKS_S = 10.0
"""How long a crawl that has ended waits for its sinks."""
log = logging.getLogger("shoal.scrapy")


class HomeCrawl:
    def __init__(self, home: Home, job: Job, cookies: CookieKeeper, terms: Terms) -> None:
        self._home = home
        self._stack = ExitStack()
        self._job = job
        self.id = job.id
        self.frontier: Frontier = home.frontier
        self.store = home.store
        self.caller = caller_of(job.id)
        self.terms = terms
        self.cookies = cookies
        self.start_scope = "start"
        self._sinks: JobSinks | None = None

    @classmethod
    async def open(cls, settings: Settings, plan: CrawlPlan) -> HomeCrawl:
        home = Home(settings.home, settings.archive_url, settings.spool_bytes)
        job = _chosen(home.store, plan)
        crawl = cls(home, job, FileCookies(home.path / "crawls" / f"{job.id}.cookies"), terms_of(plan.spec, 0.0))
        try:
            if not crawl.has_ended:
                await crawl._take_over(plan)
                crawl._start_sinks(settings)
        except BaseException:
            # Nobody else closes it: it is not handed out.
            await crawl.close()
            raise
        return crawl

    async def _take_over(self, plan: CrawlPlan) -> None:
        lock = self._home.lock_of(self.id)
        if (holder := lock.holder()) is not None:
            raise UsageError(
                f"job {self.id} is running in process {holder.pid}: a home has one process for each spider; several "
                "need Redis (SHOAL_REDIS_URL)"
            )
        self._stack.enter_context(lock.held())
        lock.keep_when_released()
        await self.frontier.open_job(self.id, self.terms)
        await self._home.take_over(self.id)
        with suppress(FrontierLost):
            # Of a process that was killed.
            await self.frontier.erase(inline_job(self.id, self.caller))
        set_state(self.store, self.id, JobState.RUNNING, time.time())

    def _start_sinks(self, settings: Settings) -> None:
        if self._job.spec.sinks:
            self._sinks = JobSinks(self.store, self._job, settings.secrets)
            self._sinks.start()

    @property
    def scrapy_redis(self) -> bool:
        return self._job.spec.scrapy_redis

    @property
    def has_ended(self) -> bool:
        return self._job.state in ENDED

    async def beat(self) -> None:
        await self._home.take_over_killed(self.id)

    async def restore(self) -> None:
        raise FrontierLost(self.id)

    async def end(self, idle_reason: str | None, state: JobState | None, reason: str | None) -> None:
        if idle_reason is not None:
            await finish(self.frontier, self.store, self._job, idle_reason)
            self._home.lock_of(self.id).remove_when_released()
            self.cookies.forget()
            await self._drain_sinks()
        else:
            set_state_unless_ended(self.store, self.id, state or JobState.INTERRUPTED, time.time(), reason)

    async def _drain_sinks(self) -> None:
        if self._sinks is None:
            return
        self._sinks.end()
        if not await self._sinks.ended(SINKS_S):
            log.warning("its sinks are behind: `shoal resume %s` delivers the rest", self.id)

    async def close(self) -> None:
        if self._sinks is not None:
            await self._sinks.stop()
        self._stack.close()
        self._home.close()


class FileCookies:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, str] = {}

    async def save(self, changed: dict[str, str]) -> None:
        self._known |= changed
        new = self._path.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(self._known, file)
        new.replace(self._path)

    async def load(self) -> dict[str, str]:
        if self._path.exists():
            self._known = json.loads(self._path.read_text())
        return dict(self._known)

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)


def _chosen(store: Store, plan: CrawlPlan) -> Job:
    last = None if plan.flush else unfinished_job(store, plan.spec.name, fleet=False)
    return existing_or_new(store, plan.job or last or new_job_id(), plan.spec, fleet=False)
