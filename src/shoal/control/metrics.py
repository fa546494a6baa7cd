"""The fleet in numbers, as Prometheus reads them: counters that its processes keep in Redis, gauges taken when asked.

A server that does not answer is told of by `shoal_up`, and what it knows is left out. No job, host or URL is named.
docs/metrics.md has every name.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from flask import current_app
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from shoal import __version__
from shoal.control.bridge import Bridge
from shoal.errors import Unavailable
from shoal.fleet.messages import REASONS
from shoal.fleet.roster import Entry, entries, serving
from shoal.fleet.tally import BEYOND, BUCKETS_S, BYTES, ENDED, FAILED, REFUSED, TOOK_MS, WITHIN, Series, tallied
from shoal.frontier.redis.connection import Memory
from shoal.frontier.redis.outlook import Survey
from shoal.model import JobState, Lane, Outcome
from shoal.store.jobs import count_jobs

ANSWER_S = 5.0
"""Prometheus waits for ten."""
KEPT_S = 2.0
"""Who asks so soon after another is told the same: anybody may ask, and it takes looking at every lane and job."""
_ROLES = ("child", "tend")
_NAME = "shoal-metrics"


def exposition(over: Bridge) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Fleet(over))
    return generate_latest(registry)


class _Kept:
    """The exposition of a moment ago."""

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._lock = threading.Lock()
        self._text, self._until = b"", 0.0

    def told(self) -> bytes:
        with self._lock:
            if time.monotonic() >= self._until:
                self._text = exposition(self._bridge)
                self._until = time.monotonic() + KEPT_S
            return self._text


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = _Kept(over)


def kept_exposition() -> bytes:
    """That of the app which answers the current request."""
    return cast(_Kept, current_app.extensions[_NAME]).told()


@dataclass(frozen=True, slots=True)
class Seen:
    """What Redis knows."""

    counts: dict[Series, int]
    survey: Survey
    roster: list[Entry]
    memory: Memory


class _Fleet(Collector):
    def __init__(self, over: Bridge) -> None:
        self._bridge = over

    def describe(self) -> Iterable[Metric]:
        """Nothing: to register it must not ask any server."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("shoal_build", "The version of the API that tells this.", {"version": __version__})
        seen, states = self._seen(), self._job_states()
        up = GaugeMetricFamily("shoal_up", "Whether a server of the fleet answers.", labels=["part"])
        up.add_metric(["redis"], float(seen is not None))
        up.add_metric(["database"], float(states is not None))
        yield up
        if states is not None:
            yield _by("shoal_jobs", "Jobs by state.", "state", {state: states.get(state, 0) for state in JobState})
        if seen is not None:
            yield from _counters(seen.counts)
            yield _durations(seen.counts)
            yield from _gauges(seen)

    def _seen(self) -> Seen | None:
        try:
            return self._bridge.run(_look(self._bridge), ANSWER_S)
        except Unavailable:
            return None

    def _job_states(self) -> dict[JobState, int] | None:
        try:
            return count_jobs(self._bridge.store).by_state
        except Unavailable:
            return None


async def _look(over: Bridge) -> Seen:
    frontier = over.frontier
    roster = await entries(frontier.connection)
    return Seen(await tallied(frontier), await frontier.survey(), roster, await frontier.connection.memory())


def _counters(counts: dict[Series, int]) -> Iterator[Metric]:
    ended = CounterMetricFamily("shoal_requests_ended", "Leases that ended, by outcome.", labels=["lane", "outcome"])
    for lane in Lane:
        for outcome in Outcome:
            ended.add_metric([lane, outcome], counts.get((ENDED, lane, outcome), 0))
    yield ended
    failed = CounterMetricFamily(
        "shoal_attempts_failed", "Attempts that failed, by status or kind of failure.", labels=["lane", "kind"]
    )
    for (what, *labels), count in sorted(counts.items()):
        if what == FAILED:
            failed.add_metric(labels, count)
    yield failed
    received = CounterMetricFamily("shoal_page_bytes", "Bytes of the bodies of pages.", labels=["lane"])
    for lane in Lane:
        received.add_metric([lane], counts.get((BYTES, lane), 0))
    yield received
    refused = CounterMetricFamily(
        "shoal_messages_refused", "Broker messages that workers set aside, by reason.", labels=["reason"]
    )
    for reason in REASONS:
        refused.add_metric([reason], counts.get((REFUSED, reason), 0))
    yield refused


def _durations(counts: dict[Series, int]) -> Metric:
    took = HistogramMetricFamily(
        "shoal_page_duration_seconds", "How long pages took, from the request to the last byte.", labels=["lane"]
    )
    for lane in Lane:
        within, buckets = 0, []
        for name in (*(f"{bound:g}" for bound in BUCKETS_S), BEYOND):
            within += counts.get((WITHIN, lane, name), 0)
            buckets.append(("+Inf" if name == BEYOND else name, float(within)))
        took.add_metric([lane], buckets, counts.get((TOOK_MS, lane), 0) / 1000)
    return took


def _gauges(seen: Seen) -> Iterator[Metric]:
    lanes = seen.survey.lanes
    yield _by("shoal_requests_queued", "Requests in the frontier.", "lane", {lane: lanes[lane].queued for lane in Lane})
    yield _by("shoal_requests_leased", "Requests held by workers.", "lane", {lane: lanes[lane].leased for lane in Lane})
    yield _by(
        "shoal_queue_age_seconds",
        "How long the host that waits longest for a worker has waited.",
        "lane",
        {lane: lanes[lane].overdue_s for lane in Lane},
    )
    yield _one("shoal_lease_age_seconds", "The age of the oldest lease.", seen.survey.lease_s)
    yield _one("shoal_frontier_memory_bytes", "What Redis uses.", seen.memory.used_bytes)
    yield _one("shoal_frontier_memory_limit_bytes", "What Redis may use; 0: anything.", seen.memory.limit_bytes)
    if not seen.memory.is_full:
        # There nobody can write down that they are at work: none on the roster does not mean that none is.
        yield from _of_roster(seen.roster)


def _of_roster(roster: list[Entry]) -> Iterator[Metric]:
    serve = {lane: len(serving(roster, lane)) for lane in Lane}
    yield _by("shoal_workers", "Processes that crawl for a lane.", "lane", serve)
    roles = Counter(entry.role for entry in roster)
    yield _by(
        "shoal_processes", "Processes of the fleet that tell of themselves.", "role", {r: roles[r] for r in _ROLES}
    )
    stuck = sum(entry.waiting_for is not None for entry in roster)
    yield _one("shoal_processes_waiting", "Processes that wait for a server or a disk.", stuck)
    yield _one("shoal_requests_in_flight", "Requests being fetched.", sum(entry.in_flight for entry in roster))
    waits = sum(entry.unstored for entry in roster)
    yield _one("shoal_requests_unstored", "Requests that have ended and wait for the store.", waits)


def _by(name: str, about: str, label: str, values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _one(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)
