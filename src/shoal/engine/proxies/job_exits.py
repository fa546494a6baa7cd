"""The exits of one job: a proxy for each of its requests, and what the answer says about it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from shoal.engine.request_result import RequestResult
from shoal.fetch.blocks.find_block import Block
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.proxies.blame import Blame, Judgement, judge, judge_status
from shoal.fetch.proxies.exits import Exit, NoProxy
from shoal.fetch.proxies.pool import BUSY_WAIT_S, ProxyPool
from shoal.fetch.proxies.provider_fetcher import ProviderFetcher
from shoal.fetch.robots import RobotsFile
from shoal.model import MILLION, DeadLetter, Lease

MOST_UNCLEAR = 2
"""How often a request is repeated through another proxy, uncounted, if the host may be to blame as well."""
MOST_BLOCKED = 3
"""How often a blocked request is tried through another proxy."""
_MOST_KEPT = 10_000


class JobExits:
    def __init__(self, pool: ProxyPool, spent: int = 0) -> None:
        """`spent`: what the job has spent before, in millionths."""
        self.pool = pool
        self._spent = spent
        self._unsaved_cost = 0
        """Of results that the frontier does not know yet. Until it does, it would lease beyond the limit."""
        self._uncounted_cost = 0
        """Of results that the frontier refused, because their leases had expired. A later result carries it."""
        self._tried: OrderedDict[int, list[str]] = OrderedDict()
        """Request -> the proxies through which it was tried without an answer of its own."""

    def choose(self, lease: Lease, most_cost: float | None) -> Exit | NoProxy:
        if most_cost is not None and self._may_exceed(most_cost):
            return NoProxy(BUSY_WAIT_S)
        options = lease.trail.options
        if options is None:
            return self.pool.choose(lease.target.host)
        return self.pool.choose(lease.target.host, options.session or "", options.region or "")

    def _may_exceed(self, most_cost: float) -> bool:
        """Only as long as something is under way: the frontier decides when the limit is reached."""
        return self._is_under_way and self._spent / MILLION + self.pool.in_flight_cost >= most_cost

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
        cost = self.pool.take_cost()
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
        proxy = self.pool.proxies[exit.place] if exit.place >= 0 else None
        if proxy is None or proxy.recipe is None:
            return direct
        return ProviderFetcher(direct, proxy.recipe, exit, exit.region or proxy.region)

    @contextmanager
    def used(self, exit: Exit) -> Iterator[None]:
        try:
            yield
        finally:
            self.pool.end(exit)

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
