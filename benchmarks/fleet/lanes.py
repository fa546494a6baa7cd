"""Who waits for whom: urgent jobs behind a flood, a worker kept for them, and jobs beside one on a slow host."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.contenders import CONCURRENCY, fresh
from benchmarks.fleet.latency_site import LatencySite, far_away, hosts
from benchmarks.fleet.ours import Fleet, fleet, lasted_s, moment
from benchmarks.measure import CannotMeasure

FLOOD = 50_000
URGENT = 20
OTHERS = 2_000
FLOODED = hosts(1, 100)
IDLE = hosts(2, URGENT)
SLOW = hosts(3, 1)
FLOODED_LATENCY_S = 0.2
IDLE_LATENCY_S = 0.05
SLOW_LATENCY_S = 5.0
WATCHED_S = 10.0


@dataclass(frozen=True, slots=True)
class Urgent:
    """A job of 20 URLs on 20 idle hosts, from its creation."""

    fetched_s: float
    """Until its last page was answered."""
    done_s: float


@dataclass(frozen=True, slots=True)
class Behind:
    """Urgent jobs on an empty fleet, and with many URLs queued."""

    empty: list[Urgent]
    behind: list[Urgent]
    queued: int
    """URLs of the flood, after the last of them."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Seconds of a job of 2,000 URLs, without and with one of 50,000 on a slow host."""

    alone_s: list[float]
    beside_s: list[float]


@dataclass(frozen=True, slots=True)
class Lanes:
    flood: int
    shared: Behind
    """One worker for both lanes."""
    kept: Behind
    """A worker for each lane."""
    kept_load: float
    """Processor share of the worker kept for urgent jobs while there is none, under the flood."""
    slow: Beside


def lanes(flood: int, rounds: int) -> Lanes:
    shared, _ = _behind(["express,batch"], flood, rounds)
    kept, load = _behind(["express", "batch"], flood, rounds)
    return Lanes(flood, shared, kept, load, _beside(flood, rounds))


@contextmanager
def _fleet() -> Iterator[tuple[LatencySite, Fleet]]:
    latencies_s = {
        **dict.fromkeys(FLOODED, FLOODED_LATENCY_S),
        **dict.fromkeys(IDLE, IDLE_LATENCY_S),
        **dict.fromkeys(SLOW, SLOW_LATENCY_S),
    }
    with far_away(latencies_s) as site, fresh() as scratch, fleet(scratch) as ours:
        ours.tend()
        yield site, ours


def _behind(workers: list[str], flood: int, rounds: int) -> tuple[Behind, float]:
    """With a worker for each of these lanes; the load is the first's."""
    with _fleet() as (site, ours):
        first, *_ = [ours.worker(served) for served in workers]
        empty = [_urgent(site, ours, f"empty{n}") for n in range(rounds)]
        listed = ours.listed("flood", site.urls(FLOODED, flood, "flood"))
        job = ours.submit(listed, "--lane", "batch", "--per-host", CONCURRENCY)
        ours.wait_until_found(job, flood)
        used_s, began = first.cpu_s(), time.monotonic()
        time.sleep(WATCHED_S)
        load = (first.cpu_s() - used_s) / (time.monotonic() - began)
        behind = [_urgent(site, ours, f"behind{n}") for n in range(rounds)]
        queued = int(ours.job(job)["queued"])
    if not queued:
        raise CannotMeasure(f"the {flood:,} URLs were fetched before the last urgent job had ended")
    return Behind(empty, behind, queued), load


def _urgent(site: LatencySite, ours: Fleet, kind: str) -> Urgent:
    listed = ours.listed(kind, site.urls(IDLE, URGENT, kind))
    figures = ours.wait(ours.submit(listed, "--lane", "express"))
    if figures["pages"] != URGENT:
        raise CannotMeasure(f"an urgent job brought {figures['pages']} pages instead of {URGENT}")
    return Urgent(max(site.seen(kind)) - moment(figures["created_at"]), lasted_s(figures))


def _beside(flood: int, rounds: int) -> Beside:
    with _fleet() as (site, ours):
        ours.worker()
        alone_s = [_other(site, ours, f"alone{n}") for n in range(rounds)]
        slow = ours.submit(ours.listed("slow", site.urls(SLOW, flood, "slow")), "--lane", "batch")
        ours.wait_until_found(slow, flood)
        return Beside(alone_s, [_other(site, ours, f"beside{n}") for n in range(rounds)])


def _other(site: LatencySite, ours: Fleet, kind: str) -> float:
    listed = ours.listed(kind, site.urls(IDLE, OTHERS, kind))
    figures = ours.wait(ours.submit(listed, "--lane", "batch"))
    return max(site.seen(kind)) - moment(figures["created_at"])
