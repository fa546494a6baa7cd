"""The proxies of a pool by tier, for one region."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from shoal.errors import UsageError
from shoal.model.proxy_list import Proxy


@dataclass(slots=True)
class Tier:
    """The proxies of one tier."""

    indices: list[int]
    weights: list[float]
    """Cumulative."""

    def has(self, index: int) -> bool:
        at = bisect(self.indices, index) - 1
        return at >= 0 and self.indices[at] == index


def tiers_of(name: str, proxies: Sequence[Proxy], region: str) -> list[Tier]:
    """Lowest first. Raises UsageError if no proxy serves the region."""
    by_tier: dict[int, list[int]] = {}
    for index, proxy in enumerate(proxies):
        if proxy.serves(region):
            by_tier.setdefault(proxy.tier, []).append(index)
    if not by_tier:
        there = ", ".join(sorted({proxy.region for proxy in proxies} - {""})) or "none with a region"
        raise UsageError(f"no proxy of {name} is in region {region}: there are {there}")
    return [
        Tier(indices, list(accumulate(proxies[index].weight for index in indices)))
        for _, indices in sorted(by_tier.items())
    ]
