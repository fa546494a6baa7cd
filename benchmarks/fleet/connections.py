"""Connections to Redis over many slices: a number per process that does not grow.

The broker is a Redis of its own here, where a slice is one message.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.contenders import fresh
from benchmarks.fleet.latency_site import far_away, hosts
from benchmarks.fleet.ours import Fleet, fleet
from benchmarks.frontier_redis import Server, redis_server
from benchmarks.measure import LIMIT_S, CannotMeasure

SLICES = 1_000
SLICE_S = 1
PROCESSES = 4
HOSTS = hosts(1, 100)
LATENCY_S = 1.0
LOOKS = 10
POLL_S = 0.2
URLS = 100_000
"""More than will be fetched."""


@dataclass(frozen=True, slots=True)
class Look:
    slices: int
    to_frontier: int
    to_broker: int
    processes: int
    """Workers with their parent, and tend."""


@dataclass(frozen=True, slots=True)
class Connections:
    looks: list[Look]

    @property
    def most_per_process(self) -> float:
        return max((look.to_frontier + look.to_broker) / look.processes for look in self.looks)


def connections(slices: int) -> Connections:
    with (
        far_away(dict.fromkeys(HOSTS, LATENCY_S)) as site,
        fresh() as scratch,
        fresh() as beside,
        redis_server(beside, append_only=False) as broker,
        fleet(scratch, broker, slice_s=str(SLICE_S)) as ours,
    ):
        sessions = [ours.tend(), ours.worker(processes=PROCESSES)]
        job = ours.submit(ours.listed("far", site.urls(HOSTS, URLS, "far")))
        began, step, looks = _published(broker), max(1, slices // LOOKS), list[Look]()
        deadline = time.monotonic() + LIMIT_S
        while len(looks) < LOOKS:
            passed = _published(broker) - began
            if passed >= step * (len(looks) + 1):
                looks.append(_look(ours, broker, passed, sum(each.count() for each in sessions)))
            if time.monotonic() > deadline:
                raise CannotMeasure(f"only {passed:,} slices of {slices:,} within {LIMIT_S:.0f} s")
            time.sleep(POLL_S)
        ours.cancel(job)
    return Connections(looks)


def _look(ours: Fleet, broker: Server, slices: int, processes: int) -> Look:
    # Each of the two also serves the benchmark's own connection.
    return Look(slices, ours.redis.connected() - 1, broker.connected() - 1, processes)


def _published(broker: Server) -> int:
    """Messages so far: the broker's transport pushes each to a list."""
    return broker.commands("lpush")
