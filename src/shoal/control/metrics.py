"""The fleet's Prometheus metrics: counters that its processes keep in Redis, and gauges read at each scrape.

If a server does not answer, `shoal_up` says so and its metrics are missing. Labels never name a job, host or URL.
docs/metrics.md lists every name.
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
from shoal.control.async_bridge import Bridge
from shoal.errors import Unavailable
from shoal.fleet.message_checks import REASONS
from shoal.fleet.metric_counters import (
    BEYOND,
    BUCKETS_S,
    BYTES,
    ENDED,
    FAILED,
    REFUSED,
    TOOK_MS,
    WITHIN,
    Series,
    read_counters,
)
from shoal.fleet.roster import RosterEntry, entries, serving
from shoal.frontier.redis.connection_pool import Memory
from shoal.frontier.redis.inspection import FrontierSurvey
from shoal.model import JobState, Lane, Outcome
from shoal.store.crawl.sink_state import SinksLag, sinks_lag
from shoal.store.jobs import count_jobs
from shoal.store.proxies.figures import PoolTotals, pool_totals

ANSWER_S = 5.0
"""Prometheus waits ten seconds."""
KEPT_S = 2.0
"""How long the result is cached: anybody may ask, and each read looks at every lane and job."""
_ROLES = ("child", "tend")
_NAME = "shoal-metrics"


def exposition(over: Bridge) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Fleet(over))
    return generate_latest(registry)


class _CachedExposition:
    """Caches the exposition for KEPT_S."""

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._lock = threading.Lock()
        self._text, self._until = b"", 0.0

    def text(self) -> bytes:
        with self._lock:
            if time.monotonic() >= self._until:
                self._text = exposition(self._bridge)
                self._until = time.monotonic() + KEPT_S
            return self._text


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = _CachedExposition(over)


def kept_exposition() -> bytes:
    """The cached exposition of the app that answers the current request."""
    return cast(_CachedExposition, current_app.extensions[_NAME]).text()


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """All values that come from Redis."""

    counts: dict[Series, int]
    survey: FrontierSurvey
    roster: list[RosterEntry]
    memory: Memory


class _Fleet(Collector):
    def __init__(self, over: Bridge) -> None:
        self._bridge = over

    def describe(self) -> Iterable[Metric]:
        """Empty, because registration must not contact a server."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("shoal_build", "Version of the API process.", {"version": __version__})
        seen, stored = self._seen(), self._stored()
        up = GaugeMetricFamily("shoal_up", "Whether a server of the fleet answers.", labels=["part"])
        up.add_metric(["redis"], float(seen is not None))
        up.add_metric(["database"], float(stored is not None))
        yield up
        if stored is not None:
            states, lag, pools = stored
            yield from _pools(pools)
            yield _by("shoal_jobs", "Jobs by state.", "state", {state: states.get(state, 0) for state in JobState})
            yield _one("shoal_sink_behind_items", "Changed items that sinks have not got yet.", lag.behind)
            yield _one("shoal_sink_behind_seconds", "How long the oldest of them has waited.", lag.behind_s)
            yield _one("shoal_sinks_waiting", "Sinks whose last delivery failed.", lag.waiting)
        if seen is not None:
            yield from _counters(seen.counts)
            yield _durations(seen.counts)
            yield from _gauges(seen)

    def _seen(self) -> FleetSnapshot | None:
        try:
            return self._bridge.run(_look(self._bridge), ANSWER_S)
        except Unavailable:
            return None

    def _stored(self) -> tuple[dict[JobState, int], SinksLag, list[PoolTotals]] | None:
        store, now = self._bridge.store, time.time()
        try:
            return count_jobs(store).by_state, sinks_lag(store, now), pool_totals(store, now)
        except Unavailable:
            return None


async def _look(over: Bridge) -> FleetSnapshot:
    frontier = over.frontier
    roster = await entries(frontier.connection)
    return FleetSnapshot(
        await read_counters(frontier), await frontier.survey(), roster, await frontier.connection.memory()
    )


def _pools(pools: list[PoolTotals]) -> Iterator[Metric]:
    requests = CounterMetricFamily("shoal_proxy_requests", "Requests through proxies.", labels=["pool", "result"])
    size = CounterMetricFamily("shoal_proxy_bytes", "Bytes received through proxies.", labels=["pool"])
    cost = CounterMetricFamily("shoal_proxy_cost", "Cost of requests through proxies.", labels=["pool"])
    cooling = GaugeMetricFamily("shoal_proxies_cooling", "Proxies that cool down.", labels=["pool"])
    for pool in pools:
        for result, n in {"success": pool.successes, "failure": pool.failures, "block": pool.blocks}.items():
            requests.add_metric([pool.pool, result], n)
        size.add_metric([pool.pool], pool.bytes)
        cost.add_metric([pool.pool], pool.cost)
        cooling.add_metric([pool.pool], pool.cooling)
    yield from (requests, size, cost, cooling)


def _counters(counts: dict[Series, int]) -> Iterator[Metric]:
    ended = CounterMetricFamily("shoal_requests_ended", "Completed requests, by outcome.", labels=["lane", "outcome"])
    for lane in Lane:
        for outcome in Outcome:
            ended.add_metric([lane, outcome], counts.get((ENDED, lane, outcome), 0))
    yield ended
    failed = CounterMetricFamily(
        "shoal_attempts_failed", "Failed attempts, by status or kind of failure.", labels=["lane", "kind"]
    )
    for (what, *labels), count in sorted(counts.items()):
        if what == FAILED:
            failed.add_metric(labels, count)
    yield failed
    received = CounterMetricFamily("shoal_page_bytes", "Bytes of page bodies.", labels=["lane"])
    for lane in Lane:
        received.add_metric([lane], counts.get((BYTES, lane), 0))
    yield received
    refused = CounterMetricFamily(
        "shoal_messages_refused", "Invalid broker messages that workers discarded, by reason.", labels=["reason"]
    )
    for reason in REASONS:
        refused.add_metric([reason], counts.get((REFUSED, reason), 0))
    yield refused


def _durations(counts: dict[Series, int]) -> Metric:
    took = HistogramMetricFamily(
        "shoal_page_duration_seconds", "Time from the request to the last byte of a page.", labels=["lane"]
    )
    for lane in Lane:
        within, buckets = 0, []
        for name in (*(f"{bound:g}" for bound in BUCKETS_S), BEYOND):
            within += counts.get((WITHIN, lane, name), 0)
            buckets.append(("+Inf" if name == BEYOND else name, float(within)))
        took.add_metric([lane], buckets, counts.get((TOOK_MS, lane), 0) / 1000)
    return took


def _gauges(seen: FleetSnapshot) -> Iterator[Metric]:
    lanes = seen.survey.lanes
    yield _by("shoal_requests_queued", "Requests in the frontier.", "lane", {lane: lanes[lane].queued for lane in Lane})
    yield _by("shoal_requests_leased", "Requests held by workers.", "lane", {lane: lanes[lane].leased for lane in Lane})
    yield _by(
        "shoal_queue_age_seconds",
        "Longest time that a host with a ready request has waited for a worker.",
        "lane",
        {lane: lanes[lane].overdue_s for lane in Lane},
    )
    yield _one("shoal_lease_age_seconds", "Age of the oldest lease.", seen.survey.lease_s)
    yield _one("shoal_frontier_memory_bytes", "Memory that Redis uses.", seen.memory.used_bytes)
    yield _one("shoal_frontier_memory_limit_bytes", "Memory limit of Redis; 0: none.", seen.memory.limit_bytes)
    if not seen.memory.is_full:
        # Processes cannot write to the roster of a full Redis, so an empty roster would mean nothing.
        yield from _of_roster(seen.roster)


def _of_roster(roster: list[RosterEntry]) -> Iterator[Metric]:
    serve = {lane: len(serving(roster, lane)) for lane in Lane}
    yield _by("shoal_workers", "Worker processes that serve a lane.", "lane", serve)
    roles = Counter(entry.role for entry in roster)
    yield _by("shoal_processes", "Running processes of the fleet, by role.", "role", {r: roles[r] for r in _ROLES})
    stuck = sum(entry.waiting_for is not None for entry in roster)
    yield _one("shoal_processes_waiting", "Processes that wait for a server or a disk.", stuck)
    held = max((entry.spooled_bytes for entry in roster), default=0)
    yield _one("shoal_archive_waiting_bytes", "Sealed segments that wait on one machine for the archive.", held)
    faulty = sum(entry.archive_note is not None for entry in roster)
    yield _one("shoal_archive_failing", "Processes whose last transfer to the archive failed.", faulty)
    yield _one("shoal_requests_in_flight", "Requests being fetched.", sum(entry.in_flight for entry in roster))
    waits = sum(entry.unstored for entry in roster)
    yield _one("shoal_requests_unstored", "Finished requests that wait to be stored.", waits)


def _by(name: str, about: str, label: str, values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _one(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)
