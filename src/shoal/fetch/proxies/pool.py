"""A pool of proxies. It gives each request one, and learns from what came of it.

A proxy that does not work cools down for all hosts, and no request uses it meanwhile. A proxy that fails or is blocked
at one host only is avoided there, as long as there are others. If no proxy works, the request waits.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from shoal.errors import UsageError
from shoal.fetch.proxies.blame import Blame, Judgement
from shoal.fetch.proxies.exits import DIRECT, Exit, NoProxy
from shoal.fetch.proxies.host_record import HostRecord, IndexSet
from shoal.fetch.proxies.proxy_choice import ProxyChoice
from shoal.fetch.proxies.proxy_record import ProxyRecord
from shoal.fetch.proxies.spending import Spending
from shoal.fetch.proxies.tiers import Tier, tiers_of
from shoal.model.proxy_list import Proxy
from shoal.wording import plural

MOST_HOSTS = 5_000
"""Hosts whose results are remembered for themselves. For others, a proxy's results at all hosts count."""
SUSPECTED_PROXIES = 3
"""If this many proxies in a row fail at a host, the host is to blame."""
DOWN_FAILURES = 5
"""A proxy that fails this often in a row, at hosts that other proxies reach, cools down for all hosts."""
BLOCKS_PER_TIER = 3
TIER_S = 600.0
"""How long a host stays with a higher tier, before the lower one is tried again."""
BUSY_WAIT_S = 0.25
FULL_WAIT_S = 0.02
"""Before a proxy that carries all it may is asked again."""
SPENT_WAIT_S = 5.0


class ProxyPool:
    def __init__(
        self,
        name: str,
        proxies: Sequence[Proxy],
        *,
        region: str = "",
        sticky: bool = False,
        direct_fallback: bool = False,
        clock: Callable[[], float] = time.time,
        chance: random.Random | None = None,
    ) -> None:
        """Raises UsageError if no proxy serves the region."""
        self.name = name
        self.proxies = proxies
        self.region = region
        self._sticky_hosts = sticky
        self._direct_fallback = direct_fallback
        self._clock = clock
        self._chance = chance or random.Random()
        self.records = [ProxyRecord() for _ in proxies]
        self._hosts: OrderedDict[str, HostRecord] = OrderedDict()
        self._tiers = tiers_of(name, proxies, region)
        self._other_regions: dict[str, list[Tier]] = {}
        self._members = sum(len(tier.indices) for tier in self._tiers)
        self._proven = IndexSet()
        self._choice = ProxyChoice(name, proxies, self.records, self._proven, self._chance)
        self._is_out_of_proxies = False
        """A request was refused since a proxy last worked."""
        self.spending = Spending()
        self.in_flight = 0
        self.in_flight_cost = 0.0
        """What the requests in flight will cost by their number; what their size costs is known later."""

    def choose(self, host: str, session: str = "", region: str = "") -> Exit | NoProxy:
        """`session` names requests that stay with one proxy. Call `end` with the exit later.
        Raises UsageError if no proxy serves the region of the request: ask `lacks_region` before."""
        if self.spending.is_over():
            return NoProxy(SPENT_WAIT_S)
        if self.in_flight_cost and self.spending.is_over(self.in_flight_cost):
            return NoProxy(BUSY_WAIT_S)
        now, region = self._clock(), region or self.region
        tiers = self._tiers_of(region)
        of_host = self._host(host)
        key = f"session {session}" if session else f"host {host}" if self._sticky_hosts else ""
        if key:
            index, token = self._choice.choose_sticky(f"{region} {key}", tiers, of_host, now, bool(session))
        else:
            index, token = self._choice.choose(tiers, of_host, now), ""
        if index is None:
            return self._without_proxy(host, tiers, now)
        self._begin(index, of_host, now)
        proxy = self.proxies[index]
        token = token or (f"{self._chance.getrandbits(40):010x}" if proxy.has_session else "")
        url = proxy.url_for(token, region)
        return Exit(index, url, host, proxy.name, proxy.remote_dns, token, session, region)

    def note(self, exit: Exit, judgement: Judgement) -> Blame:
        """Learns from a request. Returns who is to blame for a failure: a host that fails through several proxies is
        to blame itself."""
        if exit.place < 0:
            return judgement.blame if judgement.blame in (Blame.NOBODY, Blame.BLOCK) else Blame.HOST
        now, of_host = self._clock(), self._host(exit.host)
        record, here = self.records[exit.place], self._record_at(of_host, exit.place)
        is_free = judgement.was_noted or judgement.blame in (Blame.PROXY, Blame.HOST)
        cost = 0.0 if is_free else self.proxies[exit.place].cost(judgement.size)
        self.spending.add(cost)
        match judgement.blame:
            case Blame.NOBODY:
                self._is_out_of_proxies = False
                for one in (record, here):
                    one.succeed(judgement.latency_s, judgement.size, cost)
                of_host.suspects.clear()
                of_host.blocks_in_a_row = 0
                of_host.proven.add(exit.place)
                self._proven.add(exit.place)
            case Blame.PROXY:
                record.fail(0.0)
                self._cool(exit.place, now, judgement.reason)
            case Blame.BLOCK:
                self._note_block(exit, judgement, of_host, cost, now)
            case Blame.UNCLEAR:
                return self._note_suspect(exit, judgement, of_host, cost, now)
        return judgement.blame

    def charge(self, exit: Exit, size: int) -> None:
        """Counts an answer that says little about the proxy, and costs like any other."""
        if exit.place >= 0:
            cost = self.proxies[exit.place].cost(size)
            self.records[exit.place].charge(size, cost)
            self.spending.add(cost)

    def end(self, exit: Exit) -> None:
        """The request has ended, whether or not it was sent."""
        if exit.place >= 0:
            record, here = self.records[exit.place], self._record_at(self._host(exit.host), exit.place)
            record.in_flight = max(0, record.in_flight - 1)
            self.in_flight -= 1
            # Sums of fractions leave a rest.
            left = self.in_flight_cost - self.proxies[exit.place].price_per_request
            self.in_flight_cost = max(0.0, left) if self.in_flight else 0.0
            record.is_probed = here.is_probed = False

    def is_limited(self, exit: Exit) -> bool:
        return exit.place >= 0 and self.proxies[exit.place].is_limited

    def end_unused(self, exit: Exit, wait_s: float) -> None:
        """Nothing was sent: others use up what the proxy may carry. No request begins there for `wait_s`."""
        self.end(exit)
        self.records[exit.place].next_at = self._clock() + wait_s

    def has_another(self, exit: Exit) -> bool:
        """Whether a proxy is left that is not blocked or failing at the host of the request."""
        now, of_host = self._clock(), self._host(exit.host)
        return any(
            self.proxies[index].has_session or not self._choice.avoids(index, of_host, now)
            for tier in self._tiers_of(exit.region)
            for index in tier.indices
            if self.records[index].is_usable(now)
        )

    @property
    def waiting(self) -> str | None:
        """Why requests wait, as text for a person. None if a proxy works."""
        limit = self.spending.limit
        if limit is not None and self.spending.is_over():
            amount, period = limit
            until = f"until the next {period} begins" if period else "until its max_cost is higher"
            return f"all jobs together have spent the {amount:g} of the pool {self.name}: it waits {until}"
        # Not by the time: between two tries of the last proxy, the request is in the queue.
        down = [index for tier in self._tiers for index in tier.indices if self.records[index].is_cooled]
        if not self._is_out_of_proxies or len(down) < self._members:
            return None
        soonest = min(down, key=lambda index: self.records[index].cool_until)
        record = self.records[soonest]
        wait_s = record.cool_until - self._clock()
        when = f"again in {wait_s:.0f} s" if wait_s > 0.5 else "now"
        named = self.proxies[soonest].name
        return f"no proxy works: 0 of {plural(self._members, 'proxy')}; {named} is tried {when} ({record.reason})"

    def changes(self) -> Iterator[tuple[int, str, ProxyRecord]]:
        """The records that changed since their figures were taken: proxy, host or nothing, record."""
        for index, record in enumerate(self.records):
            if record.is_changed:
                yield index, "", record
        for host, of_host in self._hosts.items():
            for index, record in of_host.records.items():
                if record.is_changed:
                    yield index, host, record

    def learn(self, index: int, host: str, figures: tuple[float, float, float], cool: tuple[int, float, str]) -> None:
        """Takes over what others know: successes, failures and latency; failures in a row, cooling until, and why."""
        of_host = self._host(host) if host else None
        record = self._record_at(of_host, index) if of_host else self.records[index]
        good, bad, latency_s = figures
        record.latency_s = latency_s if good > record.good else record.latency_s
        record.good, record.bad = record.good + good, record.bad + bad
        in_a_row, until, reason = cool
        proven = of_host.proven if of_host else self._proven
        if in_a_row and until > record.cool_until:
            record.in_a_row, record.cool_until, record.reason = in_a_row, until, reason
            proven.discard(index)
        elif not in_a_row and good:
            record.warm_up()
            proven.add(index)
        record.is_changed = False

    def lacks_region(self, region: str) -> str | None:
        """Why no request can ask for the region, as text for a person. None if one can."""
        try:
            self._tiers_of(region)
        except UsageError as error:
            return str(error)
        return None

    def _tiers_of(self, region: str) -> list[Tier]:
        if region == self.region:
            return self._tiers
        if region not in self._other_regions:
            self._other_regions[region] = tiers_of(self.name, self.proxies, region)
        return self._other_regions[region]

    def _without_proxy(self, host: str, tiers: list[Tier], now: float) -> Exit | NoProxy:
        records = [self.records[index] for tier in tiers for index in tier.indices]
        if busy := [record for record in records if record.is_usable(now)]:
            # They work, and are at their limits.
            return NoProxy(max(FULL_WAIT_S, min(record.next_at - now for record in busy)))
        if self._direct_fallback:
            return Exit(-1, "", host, DIRECT)
        self._is_out_of_proxies = True
        return NoProxy(min(max(BUSY_WAIT_S, min(record.cool_until - now for record in records)), 5.0))

    def _begin(self, index: int, of_host: HostRecord, now: float) -> None:
        record, here, proxy = self.records[index], of_host.records.get(index), self.proxies[index]
        record.in_flight += 1
        self.in_flight += 1
        self.in_flight_cost += proxy.price_per_request
        record.is_probed = record.is_cooled
        if here is not None:
            here.is_probed = here.is_cooled
        if proxy.rate:
            record.next_at = max(record.next_at, now) + 1 / proxy.rate

    def _cool(self, index: int, now: float, reason: str) -> None:
        self.records[index].cool(now, reason)
        self._proven.discard(index)

    def _note_block(self, exit: Exit, judgement: Judgement, of_host: HostRecord, cost: float, now: float) -> None:
        record, here = self.records[exit.place], self._record_at(of_host, exit.place)
        record.fail(cost, is_block=True)
        # It carried the request, so it works.
        record.warm_up()
        here.fail(cost, is_block=True)
        of_host.blocks_in_a_row += 1
        for key in (f"session {exit.group}", f"host {exit.host}"):
            self._choice.forget_sticky(f"{exit.region} {key}")
        if not self.proxies[exit.place].has_session or here.in_a_row >= DOWN_FAILURES:
            here.cool(now, judgement.reason)
            of_host.proven.discard(exit.place)
        if of_host.blocks_in_a_row >= BLOCKS_PER_TIER and of_host.tier + 1 < len(self._tiers):
            of_host.tier, of_host.tier_until, of_host.blocks_in_a_row = of_host.tier + 1, now + TIER_S, 0

    def _note_suspect(self, exit: Exit, judgement: Judgement, of_host: HostRecord, cost: float, now: float) -> Blame:
        record, here = self.records[exit.place], self._record_at(of_host, exit.place)
        of_host.suspects.add(exit.place)
        if len(of_host.suspects) >= min(SUSPECTED_PROXIES, self._members):
            for index in of_host.suspects:
                self._record_at(of_host, index).warm_up()
                self.records[index].in_a_row = max(0, self.records[index].in_a_row - 1)
            record.charge(judgement.size, cost)
            return Blame.HOST
        for one in (record, here):
            one.fail(cost)
        here.cool(now, judgement.reason)
        of_host.proven.discard(exit.place)
        if record.in_a_row >= DOWN_FAILURES:
            self._cool(exit.place, now, judgement.reason)
        return Blame.PROXY

    def _host(self, host: str) -> HostRecord:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = HostRecord()
            if len(self._hosts) > MOST_HOSTS:
                self._hosts.popitem(last=False)
        return found

    def _record_at(self, of_host: HostRecord, index: int) -> ProxyRecord:
        found = of_host.records.get(index)
        if found is None:
            found = of_host.records[index] = ProxyRecord()
        return found
