"""Whether robots.txt lets a request be fetched: one file per origin, asked for through the host's own slot.

The lease that meets an unknown origin fetches its robots.txt before its page; leases that meet it meanwhile, in this
process or another, are given back for a moment: started all at once they would break the host's rate.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from shoal.engine.patience import Patience
from shoal.engine.robots_known import KnownRobots
from shoal.engine.work import Work
from shoal.errors import FrontierLost
from shoal.fetch.exchange import Failure
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.frontier.contract import Frontier
from shoal.model import Lease
from shoal.store.remembered import RobotsRecord, claim_robots, disclaim_robots, load_robots, save_robots
from shoal.store.writer import Writer
from shoal.urls import origin_of

FRESH_S = 86_400.0
NOT_NOW_S = 4.0
"""How long a robots.txt that could not be had is not asked for again."""
CLAIM_S = 60.0
"""For so long no other worker asks for the same robots.txt, unless it has come."""
READ_AT_ONCE_BYTES = 16_384
"""Reading more takes the event loop away from other hosts for too long."""
MOST_UNREAD = 8
"""Such files that wait to be read, each with its lease."""
ASKING_WAIT_S = 0.25
READING_WAIT_S = 2.0
MAX_CRAWL_DELAY_S = 300.0


class Say(Enum):
    GO = "go"
    FORBIDDEN = "forbidden"
    NOT_NOW = "not now"
    ASKING = "asking"


class Permission(NamedTuple):
    say: Say
    robots: RobotsFile | None = None
    asked: bool = False
    """This lease fetched robots.txt itself, and so used its host's slot."""
    wait_s: float = 0.0
    """How long there is no sense in asking again."""

    @property
    def crawl_delay_s(self) -> float:
        return 0.0 if self.robots is None or self.robots.not_now else _crawl_delay_s(self.robots)


GO = Permission(Say.GO)
ASKING = Permission(Say.ASKING, wait_s=ASKING_WAIT_S)
READING = Permission(Say.ASKING, wait_s=READING_WAIT_S)


class Permissions:
    def __init__(self, frontier: Frontier, writer: Writer, patience: Patience, shared: bool) -> None:
        """Shared with other workers, who must not ask for the same file at the same time."""
        self._frontier = frontier
        self._writer = writer
        self._insist = patience.insist
        self._shared = shared
        self._known = KnownRobots()
        self._reading = asyncio.Lock()
        self._unread = 0
        self._asking: set[str] = set()

    def known(self, lease: Lease, work: Work) -> Permission | None:
        """What can be said at once."""
        if not work.spec.politeness.robots:
            return GO
        origin = origin_of(lease.target.url)
        if origin in self._asking:
            return ASKING
        for known in (self._known, work.refused):
            robots = known.get(origin, work.agent)
            if robots is not None and _fresh(robots):
                return _judge(robots, lease, asked=False)
        return None

    async def ask(self, lease: Lease, work: Work) -> Permission:
        known = self.known(lease, work)
        if known is not None:
            return known
        origin = origin_of(lease.target.url)
        self._asking.add(origin)
        try:
            robots = await self._stored(origin, work)
            asked = robots is None
            if robots is None:
                if self._shared and not await self._claimed(origin):
                    return ASKING
                robots = await self._fetched(origin, work)
            if len(robots.body) > READ_AT_ONCE_BYTES:
                if self._unread == MOST_UNREAD:
                    return READING
                robots = await self._read_aside(robots)
        finally:
            self._asking.discard(origin)
        (work.refused if robots.is_refused else self._known).put(robots.read())
        if not robots.not_now:
            await self._tell_frontier(lease, _crawl_delay_s(robots))
        return _judge(robots, lease, asked)

    async def _claimed(self, origin: str) -> bool:
        return await self._insist(self._writer.run, claim_robots, origin, time.time(), CLAIM_S)

    async def _tell_frontier(self, lease: Lease, crawl_delay_s: float) -> None:
        try:
            await self._insist(self._frontier.met, lease.job, lease.target.host, crawl_delay_s)
        except FrontierLost:
            # The lease is lost with it, and will be made anew.
            pass

    async def _stored(self, origin: str, work: Work) -> RobotsFile | None:
        stored = await self._insist(self._writer.read, load_robots, origin)
        if stored is None:
            return None
        robots = RobotsFile(origin, work.agent, stored.status, stored.body, stored.fetched_at)
        return robots if _fresh(robots) else None

    async def _fetched(self, origin: str, work: Work) -> RobotsFile:
        credentials = work.spec.credentials.get(origin, "")
        robots = await fetch_robots(work.fetcher, origin, work.proxy, credentials, work.headers_for(origin))
        if not robots.not_now:
            record = RobotsRecord(origin, robots.status, robots.body, robots.fetched_at)
            await self._insist(self._writer.run, save_robots, record)
        elif self._shared:
            await self._insist(self._writer.run, disclaim_robots, origin)
        return replace(robots, agent=work.agent)

    async def _read_aside(self, robots: RobotsFile) -> RobotsFile:
        """One at a time: hosts that all have such files wait for each other, and leave half of the time to others."""
        self._unread += 1
        try:
            async with self._reading:
                return await asyncio.to_thread(robots.read)
        finally:
            self._unread -= 1


def _fresh(robots: RobotsFile) -> bool:
    return _fresh_for_s(robots) > 0


def _fresh_for_s(robots: RobotsFile) -> float:
    return robots.fetched_at + (NOT_NOW_S if robots.not_now else FRESH_S) - time.time()


def _judge(robots: RobotsFile, lease: Lease, asked: bool) -> Permission:
    if robots.not_now:
        return Permission(Say.NOT_NOW, robots, asked, _fresh_for_s(robots))
    allowed = robots.rules.allows(lease.target.url) and robots.rules.crawl_delay_s <= MAX_CRAWL_DELAY_S
    return Permission(Say.GO if allowed else Say.FORBIDDEN, robots, asked)


def _crawl_delay_s(robots: RobotsFile) -> float:
    """None of one that is too long: nothing is fetched there, and what is dropped need not wait for it."""
    delay_s = robots.rules.crawl_delay_s
    return delay_s if delay_s <= MAX_CRAWL_DELAY_S else 0.0


def failure_of(robots: RobotsFile) -> tuple[str, int | None, str]:
    """Kind, status and words for a robots.txt that could not be had."""
    if isinstance(robots.failure, Failure):
        return robots.failure.kind.value, None, f"robots.txt: {robots.failure.detail}"
    return "http", robots.status, f"robots.txt answered {robots.status}"
