"""Checks whether robots.txt allows a request. Each origin has one file, which is fetched through the host's own slot.

The first lease for an unknown origin fetches its robots.txt before its page. Other leases for it, in this process or
another, are returned for a moment: if all started when the file arrives, they would exceed the host's rate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from shoal.engine.active_job import ActiveJob
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.robots.cache import RobotsCache
from shoal.engine.saving.group_commit import GroupCommit
from shoal.errors import FrontierLost
from shoal.fetch.exchange import Failure, FailureKind
from shoal.fetch.proxies.exits import NoProxy
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.frontier.contract import Frontier
from shoal.model import Lease
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.robots_files import RobotsRecord, claim_robots, disclaim_robots, robots_asked_for, save_robots
from shoal.urls import origin_of

FRESH_S = 86_400.0
NOT_NOW_S = 4.0
"""How long to wait before requesting a robots.txt again that could not be fetched."""
CLAIM_S = 60.0
"""How long no other worker requests the same robots.txt, unless it has arrived."""
READ_AT_ONCE_BYTES = 16_384
"""Parsing more would block the event loop, and other hosts with it, for too long."""
MOST_UNREAD = 8
"""How many such files may wait to be parsed, each with its lease."""
ASKING_WAIT_S = 0.25
READING_WAIT_S = 2.0
MAX_CRAWL_DELAY_S = 300.0


class Access(Enum):
    GO = "go"
    FORBIDDEN = "forbidden"
    NOT_NOW = "not now"
    ASKING = "asking"


class RobotsDecision(NamedTuple):
    access: Access
    robots: RobotsFile | None = None
    asked: bool = False
    """This lease fetched robots.txt itself, and so used its host's slot."""
    wait_s: float = 0.0
    """How long it makes no sense to try again."""

    @property
    def crawl_delay_s(self) -> float:
        return 0.0 if self.robots is None or self.robots.unavailable_reason else _crawl_delay_s(self.robots)


GO = RobotsDecision(Access.GO)
ASKING = RobotsDecision(Access.ASKING, wait_s=ASKING_WAIT_S)
READING = RobotsDecision(Access.ASKING, wait_s=READING_WAIT_S)


class RobotsCheck:
    def __init__(self, frontier: Frontier, async_store: AsyncStore, outages: OutageRetry) -> None:
        self._frontier = frontier
        self._async_store = async_store
        self._keep_trying = outages.keep_trying
        self._load = GroupCommit(self._load_all)
        self._claim = GroupCommit(self._claim_all)
        self._save = GroupCommit(self._save_all)
        self._disclaim = GroupCommit(self._disclaim_all)
        self._known = RobotsCache()
        self._reading = asyncio.Lock()
        self._unread = 0
        self._asking: set[str] = set()

    def known(self, lease: Lease, active_job: ActiveJob) -> RobotsDecision | None:
        """The decision, if it needs no waiting."""
        if not active_job.spec.politeness.robots:
            return GO
        origin = origin_of(lease.target.url)
        if origin in self._asking:
            return ASKING
        for known in (self._known, active_job.own_robots) if active_job.shares_robots else (active_job.own_robots,):
            robots = known.get(origin, active_job.agent)
            if robots is not None and _fresh(robots):
                return _judge(robots, lease, asked=False)
        return None

    async def ask(self, lease: Lease, active_job: ActiveJob) -> RobotsDecision:
        known = self.known(lease, active_job)
        if known is not None:
            return known
        found = await self._find(lease, active_job)
        if found.robots is not None and not found.robots.unavailable_reason:
            await self._record_answer(lease, _crawl_delay_s(found.robots))
        return found

    async def allows_call(self, url: str, lease: Lease, active_job: ActiveJob) -> bool:
        """Whether a script of the page may call this URL. It may be of another host, whose clock learns nothing."""
        call = replace(lease, target=lease.target._replace(url=url))
        while True:
            decision = self.known(call, active_job) or await self._find(call, active_job)
            if decision.access is not Access.ASKING:
                return decision.access is Access.GO
            await asyncio.sleep(decision.wait_s)

    async def _find(self, lease: Lease, active_job: ActiveJob) -> RobotsDecision:
        """From the store or from the site."""
        origin = origin_of(lease.target.url)
        self._asking.add(origin)
        try:
            robots = await self._stored(origin, active_job) if active_job.shares_robots else None
            asked = robots is None
            if robots is None:
                if active_job.shares_robots and not await self._claim(origin):
                    return ASKING
                fetched = await self._fetched(origin, lease, active_job)
                if isinstance(fetched, NoProxy):
                    return RobotsDecision(Access.ASKING, wait_s=fetched.wait_s)
                robots = fetched
            if len(robots.body) > READ_AT_ONCE_BYTES:
                if self._unread == MOST_UNREAD:
                    return READING
                robots = await self._read_in_thread(robots)
        finally:
            self._asking.discard(origin)
        is_own = robots.is_refused or not active_job.shares_robots
        (active_job.own_robots if is_own else self._known).put(robots.read())
        return _judge(robots, lease, asked)

    async def _record_answer(self, lease: Lease, crawl_delay_s: float) -> None:
        try:
            await self._keep_trying(self._frontier.record_robots_answer, lease.job, lease.target.host, crawl_delay_s)
        except FrontierLost:
            # The lease is lost too, and the request will be leased again.
            pass

    async def _stored(self, origin: str, active_job: ActiveJob) -> RobotsFile | None:
        stored = await self._load(origin)
        if stored is None:
            return None
        robots = RobotsFile(origin, active_job.agent, stored.status, stored.body, stored.fetched_at)
        return robots if _fresh(robots) else None

    async def _fetched(self, origin: str, lease: Lease, active_job: ActiveJob) -> RobotsFile | NoProxy:
        robots: RobotsFile | NoProxy | None = None
        try:
            robots = await _fetch_through_exit(origin, lease, active_job)
        finally:
            # Also if the crawl is stopped meanwhile: others need not wait until the claim is over.
            is_missing = not isinstance(robots, RobotsFile) or robots.unavailable_reason
            if active_job.shares_robots and is_missing:
                await self._disclaim(origin)
        if isinstance(robots, NoProxy):
            return robots
        if active_job.shares_robots and not robots.unavailable_reason:
            await self._save(RobotsRecord(origin, robots.status, robots.body, robots.fetched_at))
        return replace(robots, agent=active_job.agent)

    async def _load_all(self, origins: Sequence[str]) -> list[RobotsRecord | None]:
        found = await self._keep_trying(self._async_store.read, robots_asked_for, origins)
        return [found.get(origin) for origin in origins]

    async def _claim_all(self, origins: Sequence[str]) -> list[bool]:
        mine = await self._keep_trying(self._async_store.run, claim_robots, origins, time.time(), CLAIM_S)
        return [origin in mine for origin in origins]

    async def _save_all(self, records: Sequence[RobotsRecord]) -> list[None]:
        await self._keep_trying(self._async_store.run, save_robots, records)
        return [None] * len(records)

    async def _disclaim_all(self, origins: Sequence[str]) -> list[None]:
        await self._keep_trying(self._async_store.run, disclaim_robots, origins)
        return [None] * len(origins)

    async def _read_in_thread(self, robots: RobotsFile) -> RobotsFile:
        """One at a time: hosts with such files wait for each other, and leave half of the time to other hosts."""
        self._unread += 1
        try:
            async with self._reading:
                return await asyncio.to_thread(robots.read)
        finally:
            self._unread -= 1


async def _fetch_through_exit(origin: str, lease: Lease, active_job: ActiveJob) -> RobotsFile | NoProxy:
    credentials = active_job.spec.credentials.get(origin, "")
    headers, timeout_s = active_job.credentials.headers_for(origin), active_job.spec.timeout
    exits = active_job.exits
    if exits is None:
        return await fetch_robots(active_job.fetcher, origin, "", credentials, headers, timeout_s)
    exit = await exits.take(lease, active_job.spec.limits.cost)
    if isinstance(exit, NoProxy):
        return exit
    async with exits.used(exit):
        way = exit.url, credentials, headers, timeout_s, exit.remote_dns
        robots = await fetch_robots(exits.fetcher(exit, active_job.fetcher), origin, *way)
        # Another proxy may reach the host at once.
        return NoProxy(ASKING_WAIT_S) if exits.failed_robots(exit, robots) else robots


def _fresh(robots: RobotsFile) -> bool:
    return _fresh_for_s(robots) > 0


def _fresh_for_s(robots: RobotsFile) -> float:
    return robots.fetched_at + (NOT_NOW_S if robots.unavailable_reason else FRESH_S) - time.time()


def _judge(robots: RobotsFile, lease: Lease, asked: bool) -> RobotsDecision:
    if robots.unavailable_reason:
        return RobotsDecision(Access.NOT_NOW, robots, asked, _fresh_for_s(robots))
    allowed = robots.rules.allows(lease.target.url) and robots.rules.crawl_delay_s <= MAX_CRAWL_DELAY_S
    return RobotsDecision(Access.GO if allowed else Access.FORBIDDEN, robots, asked)


def _crawl_delay_s(robots: RobotsFile) -> float:
    """0 if the delay is too long: then nothing is fetched there, and drops need not wait for it."""
    delay_s = robots.rules.crawl_delay_s
    return delay_s if delay_s <= MAX_CRAWL_DELAY_S else 0.0


def failure_of(robots: RobotsFile) -> tuple[str, int | None, str]:
    """Kind, status and a text for a person, for a robots.txt that could not be fetched."""
    if isinstance(robots.failure, Failure):
        if robots.failure.kind in (FailureKind.CERTIFICATE, FailureKind.PLAIN_HTTP):
            # It is the host's, and no page of the host can be fetched.
            return robots.failure.kind.value, None, robots.failure.detail
        return robots.failure.kind.value, None, f"robots.txt: {robots.failure.detail}"
    return "http", robots.status, f"robots.txt answered {robots.status}"
