"""Reads what the dashboard shows of the fleet: processes, servers with their latency, lanes, hosts in backoff.

Reads that look at every host or job are cached for some seconds, however many people look.
"""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any
from urllib.parse import urlsplit

from shoal.control.async_bridge import Bridge
from shoal.control.cached_values import Cached, CachedByOwner, ReadInBackground
from shoal.dashboard.source import FleetView, LaneView, Process, ProxiesView, Server, Viewer
from shoal.errors import ShoalError, Unavailable
from shoal.fleet.fleet_status import FleetStatus, read_fleet_status
from shoal.fleet.roster import RosterEntry, entries
from shoal.fleet.schedule_view import schedule_record
from shoal.frontier.contract import HostState
from shoal.frontier.redis.inspection import FrontierSurvey
from shoal.jobs.proxy_view import failing_proxies, view_pools
from shoal.model import Lane
from shoal.store.fleet.schedules import list_schedules
from shoal.store.fleet.tokens import list_tokens
from shoal.store.jobs import count_jobs
from shoal.store.results.fleet_series import fleet_series
from shoal.store.results.time_series import Point
from shoal.wording import plural

KEPT_S = 5.0
STATUS_KEPT_S = 1.0
SERIES_KEPT_S = 30.0
ARCHIVE_KEPT_S = 30.0
"""Providers of buckets charge for each request."""
CONNECT_S = 2.0
SHOWN_HOSTS = 20
SHOWN_PROXIES = 10
SLOWED = 1.5
"""A host whose delay is this many times the usual is slowed down."""


class FleetViewReader:
    def __init__(self, over: Bridge, background: Executor) -> None:
        self._bridge = over
        self._status = Cached(lambda: over.run(read_fleet_status(over.fleet_unopened)), STATUS_KEPT_S)
        self._survey = Cached(lambda: over.run(over.frontier.survey()), KEPT_S)
        self._hosts = Cached(lambda: over.run(over.frontier.hosts()), KEPT_S)
        self._proxies = Cached(lambda: _proxies(over), KEPT_S)
        self._redis = Cached(lambda: _timed(lambda: over.run(over.connection.command("PING"))), KEPT_S)
        self._database = Cached(lambda: _timed(over.store.is_current), KEPT_S)
        self._archive = Cached(lambda: _timed(over.archive.stored.check), ARCHIVE_KEPT_S)
        self._series = ReadInBackground[list[Point]](
            lambda owner: fleet_series(over.store, time.time(), owner), [], SERIES_KEPT_S, background
        )
        self._known_schedules = CachedByOwner(self._read_schedules, KEPT_S)
        self._broker = Cached(lambda: _timed(lambda: _connect(over.settings.broker_url or "")), KEPT_S)

    def read(self, viewer: Viewer) -> FleetView:
        seen = self._status.get()
        others = self._others() if seen.redis_answers else []
        backoff = _in_backoff(self._hosts.get()) if seen.redis_answers else []
        return FleetView(
            points=self._series.get(viewer.owner),
            processes=[*others, *(_process(child) for child in seen.at_work)],
            servers=self._servers(seen),
            lanes=self._lanes(seen, viewer),
            backoff=backoff[:SHOWN_HOSTS],
            backoff_count=len(backoff),
            schedules=self._schedules(viewer),
            tokens=_tokens(self._bridge) if viewer.is_admin else [],
            proxies=self._proxies.get() if viewer.is_admin else ProxiesView([], []),
        )

    def workers(self) -> str | None:
        """`2 workers` or what keeps them from being seen."""
        try:
            seen = self._status.get()
        except Unavailable as error:
            return str(error)
        if seen.redis_fault:
            return seen.redis_fault
        busy = sum(child.lane is not None for child in seen.at_work)
        return f"{busy} of {len(seen.at_work)} worker processes at work" if seen.at_work else "no worker is running"

    def next_runs(self, viewer: Viewer) -> Mapping[str, str]:
        schedules = self._schedules(viewer)
        newest = {one["runs"][0]["job"]: one["next"][0] for one in schedules if one["runs"] and one["next"]}
        return {job: at for job, at in newest.items() if job}

    def _schedules(self, viewer: Viewer) -> list[Mapping[str, Any]]:
        return self._known_schedules.get(viewer.owner)

    def _read_schedules(self, owner: str | None) -> list[Mapping[str, Any]]:
        store = self._bridge.store
        return [_schedule(schedule_record(store, one)) for one in list_schedules(store, owner)]

    def _servers(self, seen: FleetStatus) -> list[Server]:
        settings = self._bridge.settings
        memory = f"{seen.redis_bytes / 1e6:,.1f} MB"
        redis = self._redis.get() if seen.redis_answers else (seen.redis_fault, None)
        broker = self._broker.get() if settings.broker_url else None
        return [
            Server("Redis", settings.shown("redis_url"), seen.redis_fault or redis[0], memory, redis[1]),
            _server("Database", self._bridge.store.name, self._database.get(), plural(seen.jobs, "unfinished job")),
            _server("Archive", settings.shown("archive_url"), self._archive.get(), _archive_note(seen)),
            *([_server("Broker", settings.shown("broker_url"), broker, "")] if broker else []),
        ]

    def _lanes(self, seen: FleetStatus, viewer: Viewer) -> list[LaneView]:
        counts = count_jobs(self._bridge.store, viewer.owner)
        serving = Counter(lane for child in seen.at_work for lane in child.lanes)
        survey = self._survey.get() if seen.redis_answers else None
        return [_lane(lane, serving[lane], counts.unfinished.get(lane, 0), survey) for lane in Lane]

    def _others(self) -> list[Process]:
        roster = self._bridge.run(entries(self._bridge.connection))
        return [_process_of(one, "scheduling") for one in roster if one.role != "child"]


def _proxies(over: Bridge) -> ProxiesView:
    pools = view_pools(over.store, over.settings.proxies)
    # A pool that no request used is not known to fail.
    pools.sort(key=lambda pool: (pool["success_share"] is None, pool["success_share"] or 0.0))
    names = [pool["pool"] for pool in pools if pool["requests"]]
    return ProxiesView(pools, failing_proxies(over.store, over.settings.proxies, names, SHOWN_PROXIES))


def _timed(ask: Callable[[], object]) -> tuple[str | None, float | None]:
    """Why the server cannot be used, or how many milliseconds it took."""
    began = time.perf_counter()
    try:
        ask()
    except ShoalError as error:
        return str(error), None
    return None, (time.perf_counter() - began) * 1000


def _connect(url: str) -> None:
    """Raises Unavailable unless something accepts a connection there. Celery is not imported for it: it is big."""
    parts = urlsplit(url.split(";")[0])
    port = parts.port or (6379 if parts.scheme.startswith("redis") else 5672)
    try:
        socket.create_connection((parts.hostname or "localhost", port), CONNECT_S).close()
    except OSError as error:
        raise Unavailable(f"the broker does not accept connections: {error.strerror or error}") from error


def _server(name: str, address: str, timed: tuple[str | None, float | None], detail: str) -> Server:
    fault, took_ms = timed
    return Server(name, address, fault, detail, took_ms)


def _archive_note(seen: FleetStatus) -> str:
    spooled = sum(child.spooled_bytes for child in seen.at_work)
    notes = [child.archive_note for child in seen.at_work if child.archive_note]
    return "; ".join(filter(None, (notes[0] if notes else "", f"{spooled / 1e6:,.1f} MB wait" if spooled else "")))


def _lane(lane: Lane, processes: int, jobs: int, survey: FrontierSurvey | None) -> LaneView:
    if survey is None:
        return LaneView(lane.value, processes, jobs, None, None, None)
    found = survey.lanes[lane]
    return LaneView(lane.value, processes, jobs, found.queued, found.leased, found.overdue_s)


def _in_backoff(hosts: Sequence[HostState]) -> list[HostState]:
    now = time.time()
    held = [host for host in hosts if host.block_until > now or host.paused or host.slowdown >= SLOWED]
    return sorted(held, key=lambda host: (-host.block_until, -host.slowdown, host.name))


def _process(child: RosterEntry) -> Process:
    doing = f"crawls {child.lane}" if child.lane else "idle"
    return _process_of(
        child, f"{doing}; its browser does not start: {child.browser_fault}" if child.browser_fault else doing
    )


def _process_of(entry: RosterEntry, doing: str) -> Process:
    return Process(
        role="worker" if entry.role == "child" else entry.role,
        machine=entry.machine,
        pid=entry.pid,
        doing="drains: finishes its requests and ends" if entry.stopping else doing,
        per_s=entry.per_s,
        in_flight=entry.in_flight,
        slots=entry.slots,
        memory_bytes=entry.memory_bytes,
        browser_open=entry.browser_open,
        browser_pages=entry.browser_pages,
        waiting_for=entry.waiting_for,
        version=entry.version,
        heartbeat_age_s=max(0.0, time.time() - entry.written_at),
        lanes=[lane.value for lane in entry.lanes],
    )


def _schedule(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**record, "next": [at[:16].replace("T", " ") for at in record["next_runs"]]}


def _tokens(over: Bridge) -> list[Mapping[str, Any]]:
    found = list_tokens(over.store)
    return [
        {"name": one.name, "scope": one.scope, "created_at": one.created_at, "used_at": one.used_at} for one in found
    ]
