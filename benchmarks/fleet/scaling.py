"""Two worker processes against one where the distance to the site is the limit, not a core."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from benchmarks.contenders import fresh
from benchmarks.fleet.latency_site import far_away, hosts
from benchmarks.fleet.ours import fleet
from benchmarks.measure import CannotMeasure

PAGES = 6_000
HOSTS = hosts(1, 100)
PER_HOST = 4
LATENCY_S = 0.2
EDGE = 0.1
"""The share of pages left out at the beginning and at the end, where a worker is not full."""


@dataclass(frozen=True, slots=True)
class Scaling:
    pages: int
    one: list[float]
    """Pages per second, in rounds with the next."""
    two: list[float]


def scale(pages: int, rounds: int) -> Scaling:
    rates: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for processes, measured in rates.items():
            measured.append(_pages_per_s(pages, processes))
    return Scaling(pages, rates[1], rates[2])


def _pages_per_s(pages: int, processes: int) -> float:
    with far_away(dict.fromkeys(HOSTS, LATENCY_S)) as site, fresh() as scratch, fleet(scratch) as ours:
        ours.tend()
        ours.worker(processes=processes)
        listed = ours.listed("far", site.urls(HOSTS, pages, "far"))
        ours.wait(ours.submit(listed, "--per-host", str(PER_HOST)))
        at = sorted(site.seen("far"))
    if len(at) != pages:
        raise CannotMeasure(f"the site was asked for {len(at)} pages instead of {pages}")
    edge = int(pages * EDGE)
    rate = (len(at) - 1 - 2 * edge) / (at[-1 - edge] - at[edge])
    print(f"fleet-scaling: {processes} processes, {rate:,.0f} pages per second", file=sys.stderr)
    return rate
