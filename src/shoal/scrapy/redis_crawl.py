"""A crawl in Redis: any number of processes on any number of machines, which find the job by the spider's name."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from dataclasses import replace

from shoal.embedded.home import inline_caller
from shoal.engine.job_finish import finish
from shoal.engine.job_start import terms_of
from shoal.errors import FrontierLost, UsageError
from shoal.fleet.load_frontier import rebuild
from shoal.frontier.contract import Terms
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.frontier.redis.shard import TAG
from shoal.jobs.deployment import make_folder
from shoal.jobs.job_id import new_job_id
from shoal.model import ENDED, JobSpec, JobState
from shoal.scrapy.cookie_jars import CookieKeeper
from shoal.scrapy.crawl_job import CrawlPlan, existing_or_new, unfinished_job
from shoal.scrapy.inline_leases import inline_job
from shoal.settings import Settings
from shoal.store.job_changes import change_spec
from shoal.store.job_state import set_state_unless_ended
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store

CONNECTIONS = 3
"""Of the frontier to Redis, per process."""
RESTORE_S = 60
LOOK_EVERY_S = 0.25
COOKIES_S = 30 * 86_400
_DELETE_IF_EQUAL = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class RedisCrawl:
    def __init__(self, frontier: RedisFrontier, store: Store, job: Job, plan: CrawlPlan) -> None:
        self.frontier: RedisFrontier = frontier
        self.store = store
        self._job = job
        self._name = None if plan.job else plan.spec.name
        self._persists = plan.persist
        self._run = 0
        """Counts how often a job that persists has been worked off."""
        self.scrapy_redis = job.spec.scrapy_redis
        self.id = job.id
        self.caller = f"scrapy-{socket.gethostname()}-{os.getpid()}-{time.time_ns():x}"
        self.terms = terms_of(plan.spec, 0.0)
        self._workers = OwnWorkers(frontier.connection, job.id)
        self.cookies: CookieKeeper = RedisCookies(frontier.connection, f"{TAG}:cookies:{job.id}")

    @classmethod
    async def open(cls, settings: Settings, url: str, plan: CrawlPlan) -> RedisCrawl:
        frontier = await RedisFrontier.open(url, PoolLimits(connections=CONNECTIONS, lease_s=settings.lease_s))
        try:
            store = _store_of(settings)
            crawl = cls(frontier, store, await _chosen_in_redis(frontier, store, plan), plan)
            if not crawl.has_ended:
                await crawl._join(plan)
            return crawl
        except BaseException:
            # Nobody else closes it: it is not handed out.
            await frontier.close()
            raise

    async def _join(self, plan: CrawlPlan) -> None:
        await self._workers.beat(self.caller)
        await self._share_scrapy_redis()
        self._run = int(await self.frontier.connection.command("GET", self._run_key) or 0)
        if self._job.spec.scrapy_run is not None:
            self.terms = self._managed_terms(plan.spec)
        try:
            # A paused job stays so.
            await self.frontier.change(self.id, self.terms)
        except FrontierLost:
            await self.frontier.open_job(self.id, self.terms)
        if self._job.state in (JobState.QUEUED, JobState.INTERRUPTED):
            set_state_unless_ended(self.store, self.id, JobState.RUNNING, time.time())

    def _managed_terms(self, planned: JobSpec) -> Terms:
        """Limits and lane are those that the job was submitted with; the treatment of hosts is the project's."""
        known = self._job.spec
        spec = replace(known, politeness=planned.politeness, agent=planned.agent)
        if spec != known:
            with suppress(UsageError):
                # It may have ended meanwhile.
                change_spec(self.store, self.id, lambda _: spec, self._job.version, time.time())
        return terms_of(spec, self._job.seconds, self._job.owner)

    async def _share_scrapy_redis(self) -> None:
        """A machine with a store of its own did not see the import."""
        key = f"{TAG}:scrapy-redis:{self.id}"
        if self.scrapy_redis:
            await self.frontier.connection.command("SET", key, 1)
        self.scrapy_redis = bool(await self.frontier.connection.command("EXISTS", key))

    @property
    def start_scope(self) -> str:
        return f"start {self._run}" if self._run else "start"

    @property
    def _run_key(self) -> str:
        return f"{TAG}:run:{self.id}"

    @property
    def has_ended(self) -> bool:
        return self._job.state in ENDED

    async def beat(self) -> None:
        await self._workers.beat(self.caller)
        gone = await self._workers.gone()
        await self.frontier.reap(gone=[*gone, *map(inline_caller, gone)])
        for caller in gone:
            with suppress(FrontierLost):
                await self.frontier.erase(inline_job(self.id, caller))
            await self._workers.leave(caller)

    async def restore(self) -> None:
        """By one process at a time, or by tend if a fleet has one."""
        command, lock = self.frontier.connection.command, f"{TAG}:restoring:{self.id}"
        if await command("SET", lock, self.caller, "NX", "EX", RESTORE_S):
            await rebuild(self.frontier, self.store, load_job(self.store, self.id))
            await command("DEL", lock)
        else:
            await asyncio.sleep(LOOK_EVERY_S)

    async def end(self, idle_reason: str | None, state: JobState | None, reason: str | None) -> None:
        await self._workers.leave(self.caller)
        if idle_reason == "empty" and self._persists:
            # The next run fetches the start requests again, and nothing else that this one has seen.
            await self.frontier.connection.command("SET", self._run_key, self._run + 1)
            idle_reason, state, reason = None, JobState.INTERRUPTED, "its queue is empty, and kept: SCHEDULER_PERSIST"
        if idle_reason is not None:
            await finish(self.frontier, self.store, self._job, idle_reason)
            self.cookies.forget()
        elif not await self._workers.alive():
            set_state_unless_ended(self.store, self.id, state or JobState.INTERRUPTED, time.time(), reason)
        if load_job(self.store, self.id).state in ENDED and self._name is not None:
            await self.frontier.connection.command("EVAL", _DELETE_IF_EQUAL, 1, _name_key(self._name), self.id)

    async def close(self) -> None:
        self.store.close()
        await self.frontier.close()


class RedisCookies:
    def __init__(self, connection: RedisConnection, key: str) -> None:
        self._connection = connection
        self._key = key

    async def save(self, changed: dict[str, str]) -> None:
        await self._connection.command("HSET", self._key, *(text for pair in changed.items() for text in pair))
        await self._connection.command("EXPIRE", self._key, COOKIES_S)

    async def load(self) -> dict[str, str]:
        found = await self._connection.command("HGETALL", self._key)
        pairs = found.items() if isinstance(found, dict) else zip(found[::2], found[1::2], strict=True)
        return {name.decode(): text.decode() for name, text in pairs}

    def forget(self) -> None:
        """They expire."""


def _store_of(settings: Settings) -> Store:
    if settings.database_url is not None:
        return Store.open(settings.database_url)
    make_folder(settings.home)
    return Store.open(settings.home / "shoal.db")


def _name_key(name: str) -> str:
    return f"{TAG}:spider:{name}"


async def _chosen_in_redis(frontier: RedisFrontier, store: Store, plan: CrawlPlan) -> Job:
    """The processes of a spider agree on a job in Redis, because each machine may have a store of its own."""
    name = plan.spec.name
    while plan.job is None:
        new = unfinished_job(store, name, fleet=True) or new_job_id()
        await frontier.connection.command("SET", _name_key(name), new, "NX")
        agreed = (await frontier.connection.command("GET", _name_key(name)) or new.encode()).decode()
        job = existing_or_new(store, agreed, plan.spec, fleet=True)
        # A job that no process has begun is not flushed: it is ours.
        if job.state not in ENDED and not (plan.flush and job.started_at):
            return job
        set_state_unless_ended(store, job.id, JobState.CANCELLED, time.time())
        with suppress(FrontierLost):
            await frontier.erase(job.id)
        await frontier.connection.command("EVAL", _DELETE_IF_EQUAL, 1, _name_key(name), job.id)
    return existing_or_new(store, plan.job, plan.spec, fleet=True)
