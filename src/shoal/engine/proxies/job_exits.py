"""The exits of one job: a proxy for each of its requests, and what the answer says about it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shoal.engine.proxies.shared_limits import SharedLimits
from shoal.engine.request_result import RequestResult
from shoal.fetch.blocks.find_block import Block
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.proxies.blame import Blame, Judgement, judge, judge_status
from shoal.fetch.proxies.exits import Exit, NoProxy
from shoal.fetch.proxies.pool import BUSY_WAIT_S, ProxyPool
from shoal.fetch.proxies.provider_fetcher import ProviderFetcher, fetcher_for
from shoal.fetch.robots import RobotsFile
from shoal.model import MILLION, DeadLetter, Lease

MOST_UNCLEAR = 2
"""How often a request is repeated through another proxy, uncounted, if the host may be to blame as well."""
MOST_BLOCKED = 3
"""How often a blocked request is tried through another proxy."""
WORTH_WAITING_S = 0.5
"""A request that would wait longer for a proxy is returned to the frontier."""
_MOST_KEPT = 10_000


class JobExits:
    def __init__(self, pool: ProxyPool, spent: int = 0, limits: SharedLimits | None = None) -> None:
        """`spent`: what the job has spent before, in millionths. `limits` hold over several processes."""
        self.pool = pool
        self.limits = limits
        self._spent = spent
        self._unsaved_cost = 0
        """Of results that the frontier does not know yet. Until it does, it would lease beyond the limit."""
        self._uncounted_cost = 0
        """Of results that the frontier refused, because their leases had expired. A later result carries it."""
        self._tried: OrderedDict[int, list[str]] = OrderedDict()
        """Request -> the proxies through which it was tried without an answer of its own."""

    async def take(self, lease: Lease, most_cost: float | None) -> Exit | NoProxy:
        """Waits a moment for a proxy that carries all it may. Call `used` with the exit."""
        # Whether there is money left is for the frontier to decide, before each request.
        until = time.monotonic() + (WORTH_WAITING_S if most_cost is None else 0.0)
        while True:
            found = await self._taken(lease, most_cost)
            if isinstance(found, Exit) or time.monotonic() + found.wait_s > until:
                return found
            await asyncio.sleep(found.wait_s)

    async def _taken(self, lease: Lease, most_cost: float | None) -> Exit | NoProxy:
        found = self.choose(lease, most_cost)
        if self.limits is None or isinstance(found, NoProxy) or not self.pool.is_limited(found):
            return found
        wait_s: float | None = None
        try:
            wait_s = await self.limits.take(self.pool.name, self.pool.proxies[found.place])
        finally:
            if wait_s != 0:
                self.pool.end_unused(found, wait_s or 0.0)
        return NoProxy(wait_s) if wait_s else found

    def choose(self, lease: Lease, most_cost: float | None) -> Exit | NoProxy:
        if most_cost is not None and self._may_exceed(most_cost):
            return NoProxy(BUSY_WAIT_S)
        options = lease.trail.options
        if options is None:
            return self.pool.choose(lease.target.host)
        return self.pool.choose(lease.target.host, options.session or "", options.region or "")

    def _may_exceed(self, most_cost: float) -> bool:
        """Only as long as something is under way: the frontier decides when the limit is reached."""
        # Sums of fractions leave a rest.
        return self._is_under_way and round(self._spent / MILLION + self.pool.in_flight_cost, 6) >= most_cost

    @property
    def _is_under_way(self) -> bool:
        return bool(self._unsaved_cost or self.pool.in_flight)

    def must_report(self, most_cost: float | None) -> bool:
        """Whether the limit is reached, and the frontier does not know it: then a request tells it, and is not sent."""
        if most_cost is None or not self._uncounted_cost or self._is_under_way:
            return False
        return self._spent / MILLION >= most_cost

    def take_cost(self) -> int:
        """What was spent since the last call, in millionths. Call `saved` when the frontier knows it."""
        cost = self.pool.spending.take_unreported()
        self._spent += cost
        self._unsaved_cost += cost
        return cost

    def take_uncounted(self) -> int:
        """To be added to the cost of a result, in millionths. Call `saved` for it as well."""
        cost, self._uncounted_cost = self._uncounted_cost, 0
        self._unsaved_cost += cost
        return cost

    def saved(self, cost: int, is_counted: bool) -> None:
        """`is_counted`: the frontier still knew the lease."""
        self._unsaved_cost -= cost
        self._uncounted_cost += 0 if is_counted else cost

    def fetcher(self, exit: Exit, direct: Fetcher) -> Fetcher | ProviderFetcher:
        """What fetches through the exit."""
        return fetcher_for(self.pool, exit, direct)

    @asynccontextmanager
    async def used(self, exit: Exit) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.pool.end(exit)
            if self.limits is not None and self.pool.is_limited(exit):
                # Even if this request is cancelled: others wait for it.
                await asyncio.shield(self.limits.give_back(self.pool.name, self.pool.proxies[exit.place]))

    def failed_robots(self, exit: Exit, robots: RobotsFile) -> bool:
        """Learns from a fetch of robots.txt. Whether the proxy was to blame, so that another one is tried."""
        judgement = judge(robots.failure) if robots.failure else judge_status(robots.status or 0)
        if judgement.blame is Blame.NOBODY:
            # The size and time of such a file say little.
            self.pool.charge(exit, len(robots.body))
            return False
        return self.pool.note(exit, judgement) is Blame.PROXY

    def name_proxies(self, exit: Exit, result: RequestResult) -> None:
        """Notes on the result through which proxies the request went."""
        result.proxy = exit.name
        if result.record is None:
            return
        tried = self._tried.pop(result.lease.target.fingerprint, [])
        if isinstance(result.record, DeadLetter):
            result.record.detail += f" (through {', '.join([*tried, exit.name])})"

    def goes_elsewhere(self, exit: Exit, lease: Lease, answer: Exchange | Failure, block: Block | None) -> bool:
        """Learns from the answer. Whether the request is repeated through another proxy, without being counted."""
        judgement = judge(answer)
        if block is not None:
            judgement = Judgement(Blame.BLOCK, block.words, judgement.latency_s, judgement.size)
        return self._goes_elsewhere(exit, lease, judgement)

    def is_blocked_after_all(self, exit: Exit, lease: Lease, block: Block) -> bool:
        """The same for a page that was taken for a good one until it was read."""
        return self._goes_elsewhere(exit, lease, Judgement(Blame.BLOCK, block.words, was_noted=True))

    def _goes_elsewhere(self, exit: Exit, lease: Lease, judgement: Judgement) -> bool:
        blame = self.pool.note(exit, judgement)
        request = lease.target.fingerprint
        tried = self._tried.get(request, [])
        if blame is Blame.BLOCK:
            again = len(tried) < MOST_BLOCKED and self.pool.has_another(exit)
        else:
            again = blame is Blame.PROXY and (judgement.blame is Blame.PROXY or len(tried) < MOST_UNCLEAR)
        if again and judgement.blame is not Blame.PROXY:
            # One that does not work at all says nothing about the request.
            self._tried[request] = [*tried, exit.name]
            if len(self._tried) > _MOST_KEPT:
                self._tried.popitem(last=False)
        return again
