"""The job that a spider's processes work on: in the home with one process, or in Redis with any number of them.

A spider continues its last job until that job has ended. SHOAL_JOB names one job instead: once it has ended, a process
with that setting has nothing to do.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.exc import IntegrityError

from shoal.errors import MissingExtra, UnknownJob, UsageError
from shoal.frontier.contract import Frontier, Terms
from shoal.model import ENDED, JobSpec, JobState
from shoal.scrapy.cookie_jars import CookieKeeper
from shoal.settings import Settings
from shoal.store.jobs import Job, create_job, list_jobs, load_job
from shoal.store.store import Store

_JOBS_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What the settings of the project say about the job."""

    spec: JobSpec
    job: str | None
    """SHOAL_JOB"""
    flush: bool
    """SCHEDULER_FLUSH_ON_START"""
    persist: bool = False
    """SCHEDULER_PERSIST"""


class CrawlJob(Protocol):
    store: Store
    id: str
    caller: str
    terms: Terms
    cookies: CookieKeeper

    @property
    def scrapy_redis(self) -> bool:
        """Whether the job was imported from scrapy-redis, and tells requests apart as it does."""

    @property
    def start_scope(self) -> str:
        """The start requests of all processes in one scope are the same."""

    @property
    def frontier(self) -> Frontier: ...

    @property
    def has_ended(self) -> bool:
        """Whether the job had ended before this process began."""

    async def beat(self) -> None:
        """Call it every few seconds: shows that this process lives, and returns the leases of those that do not."""

    async def restore(self) -> None:
        """After the frontier has lost the job: fills it again from the store, or waits while another process does.
        Raises FrontierLost if that is impossible."""

    async def end(self, idle_reason: str | None, state: JobState | None, reason: str | None) -> None:
        """For a process that stops. The job ends if it is idle. Otherwise it gets the state, if no other process works
        on it; None: it is only interrupted."""

    async def close(self) -> None: ...


async def open_crawl(settings: Settings, plan: CrawlPlan) -> CrawlJob:
    """Raises Unavailable if Redis is away, and UsageError if another process of this home works on the job."""
    if settings.redis_url is None:
        from shoal.scrapy.home_crawl import HomeCrawl

        return await HomeCrawl.open(settings, plan)
    try:
        from shoal.scrapy.redis_crawl import RedisCrawl
    except ImportError as error:
        raise MissingExtra(f"a crawl in Redis needs {error.name}", "fleet") from error
    return await RedisCrawl.open(settings, settings.redis_url, plan)


def unfinished_job(store: Store, spider: str, fleet: bool) -> str | None:
    """The id of the spider's newest job, unless that has ended. Jobs that workers of a fleet run are not looked at: a
    process that somebody starts by hand must not join, change or flush them."""
    own = (job for job in list_jobs(store, _JOBS_LOOKED_AT) if job.spec.scrapy_run is None and job.fleet == fleet)
    newest = next((job for job in own if job.spec.scrapy == spider), None)
    return None if newest is None or newest.state in ENDED else newest.id


def existing_or_new(store: Store, id: str, spec: JobSpec, fleet: bool) -> Job:
    """The job of this id, which another process may create at the same time."""
    try:
        job = load_job(store, id)
    except UnknownJob:
        # The first is of SQLite's driver, which `create_job` uses without SQLAlchemy.
        with suppress(sqlite3.IntegrityError, IntegrityError):
            create_job(store, id, lambda: spec, [], time.time(), fleet=fleet)
        job = load_job(store, id)
    if job.spec.scrapy is None:
        raise UsageError(f"job {id} is not a Scrapy crawl: choose another SHOAL_JOB")
    return job


def check_job_id(id: Any) -> str | None:
    """Raises UsageError."""
    if not id:
        return None
    text = str(id)
    if not all(char.isalnum() or char in "-_." for char in text) or len(text) > 100:
        raise UsageError(f"SHOAL_JOB is {text!r}: use letters, digits, dots and dashes")
    return text
