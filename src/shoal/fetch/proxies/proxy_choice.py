"""Chooses a proxy of a pool for a request, weighted by what worked before at the same host, with a little exploration.

A session stays with its proxy; so does a host, if the job wants that."""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from shoal.fetch.proxies.host_record import HostRecord, IndexSet
from shoal.fetch.proxies.proxy_record import ProxyRecord
from shoal.fetch.proxies.tiers import Tier
from shoal.model.proxy_list import Proxy

EXPLORED = 0.04
"""The share of requests that try a proxy which has not proven itself at the host."""
ENOUGH_PROVEN = 16
"""With fewer proven proxies than this, a host explores more."""
DRAWS = 8
COMPARED = 4
MOST_STICKY = 5_000
"""Sessions and hosts that stay with their proxy."""
STICKY_S = 600.0
STICKY_USES = 500


@dataclass(slots=True)
class _Sticky:
    index: int
    session: str
    until: float
    most_uses: float
    uses: int = 0


class ProxyChoice:
    def __init__(
        self,
        pool: str,
        proxies: Sequence[Proxy],
        records: Sequence[ProxyRecord],
        proven: IndexSet,
        chance: random.Random,
    ) -> None:
        """`records` and `proven` are what the pool learns."""
        self._pool = pool
        self._proxies = proxies
        self._records = records
        self._proven = proven
        self._chance = chance
        self._sticky_choices: OrderedDict[str, _Sticky] = OrderedDict()

    def choose(self, tiers: list[Tier], of_host: HostRecord, now: float) -> int | None:
        if of_host.tier and of_host.tier_until < now:
            of_host.tier = 0
        for tier in tiers[of_host.tier :]:
            if (index := self._chosen(tier, of_host, now)) is not None:
                return index
        # Failing or blocked at this host is better than nothing: then the host decides, and not the pool.
        open_ones = [index for tier in tiers for index in tier.indices if self._is_open(index, now)]
        records = of_host.records
        return min(open_ones, key=lambda index: records[index].cool_until if index in records else 0, default=None)

    def _chosen(self, tier: Tier, of_host: HostRecord, now: float) -> int | None:
        proven = of_host.proven if len(of_host.proven) else self._proven
        chance = self._chance.random
        if len(proven) and chance() >= max(EXPLORED, 1 - len(proven) / min(len(tier.indices), ENOUGH_PROVEN)):
            compared = [proven.items[int(chance() * len(proven))] for _ in range(COMPARED)]
            # Proven ones of other tiers or regions do not count.
            compared = [index for index in compared if self._may_use(index, of_host, now) and tier.has(index)]
            if compared:
                return self._weighted(compared, of_host)
        for _ in range(DRAWS):
            index = tier.indices[min(bisect(tier.weights, chance() * tier.weights[-1]), len(tier.indices) - 1)]
            if self._may_use(index, of_host, now):
                return index
        usable = [index for index in tier.indices if self._may_use(index, of_host, now)]
        return self._chance.choice(usable) if usable else None

    def _weighted(self, indices: list[int], of_host: HostRecord) -> int:
        scores = [
            (of_host.records.get(index) or self._records[index]).score * self._proxies[index].weight
            for index in indices
        ]
        at = self._chance.random() * sum(scores)
        for index, score in zip(indices, scores, strict=True):
            at -= score
            if at < 0:
                return index
        return indices[-1]

    def choose_sticky(
        self, key: str, tiers: list[Tier], of_host: HostRecord, now: float, is_session: bool
    ) -> tuple[int | None, str]:
        """The same proxy as long as it works and is not blocked, so a request waits until it has room. All processes
        choose the same. A session may be a login, which a change of the address may end. So only that of a host is left
        when it is old."""
        held = self._sticky_choices.get(key)
        if held and held.until > now and held.uses < held.most_uses and self.works(held.index, of_host, now):
            if not self._has_room(held.index, now):
                return None, ""
            held.uses += 1
            return held.index, held.session
        era = 0 if is_session else int(now / STICKY_S)
        for tier in tiers[of_host.tier :]:
            usable = [index for index in tier.indices if self.works(index, of_host, now)]
            if usable:
                index = max(usable, key=lambda index: _hashed(f"{key} {era} {self._proxies[index].name}"))
                if not self._has_room(index, now):
                    return None, ""
                break
        else:
            return self.choose(tiers, of_host, now), _hashed(f"{key} {era}").hex()
        retired = held.uses if held is not None else 0
        session = _hashed(f"{self._pool} {key} {era} {retired} {of_host.blocks_in_a_row}").hex()
        until = math.inf if is_session else (era + 1) * STICKY_S
        self._sticky_choices[key] = _Sticky(index, session, until, math.inf if is_session else STICKY_USES)
        if len(self._sticky_choices) > MOST_STICKY:
            self._sticky_choices.popitem(last=False)
        return index, session

    def forget_sticky(self, key: str) -> None:
        """The next request of the session or host may get another proxy."""
        self._sticky_choices.pop(key, None)

    def _may_use(self, index: int, of_host: HostRecord, now: float) -> bool:
        return self._is_open(index, now) and not self.avoids(index, of_host, now)

    def works(self, index: int, of_host: HostRecord, now: float) -> bool:
        """Even if it is at its limits."""
        return self._records[index].is_usable(now) and not self.avoids(index, of_host, now)

    def _is_open(self, index: int, now: float) -> bool:
        return self._records[index].is_usable(now) and self._has_room(index, now)

    def _has_room(self, index: int, now: float) -> bool:
        record, proxy = self._records[index], self._proxies[index]
        return record.next_at <= now and not (proxy.concurrency and record.in_flight >= proxy.concurrency)

    def avoids(self, index: int, of_host: HostRecord, now: float) -> bool:
        here = of_host.records.get(index)
        return here is not None and not here.is_usable(now)


def _hashed(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=5).digest()
