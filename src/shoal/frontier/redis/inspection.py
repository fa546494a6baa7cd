"""Reads the frontier in Redis without changing it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shoal.frontier.contract import ALL_LANES, HostState
from shoal.frontier.politeness_clock import StartClock
from shoal.frontier.redis.serialize import requests_in, target_of, trail_and_lines
from shoal.frontier.redis.shard import CLOCKS, COUNTED, Shard
from shoal.frontier.wait_reason import why_waiting
from shoal.model import Figures, Lane, Target, Trail

_HOSTS_AT_ONCE = 200
_BANDS = ("h", "a", "0", "1", "2", "rh", "r0", "r1", "r2")
_COUNTS = ("found", "queued", "leased", "pages", "assets", "redirects", "dead")


@dataclass(frozen=True, slots=True)
class LaneSurvey:
    queued: int = 0
    leased: int = 0
    overdue_s: float = 0.0
    """How long the most overdue host has waited for a worker."""

    def with_more(self, queued: int, leased: int, overdue_s: float) -> LaneSurvey:
        return LaneSurvey(self.queued + queued, self.leased + leased, max(self.overdue_s, overdue_s))


@dataclass(frozen=True, slots=True)
class FrontierSurvey:
    """How full the frontier is, and how long its requests have waited."""

    lanes: dict[Lane, LaneSurvey]
    lease_s: float
    """The age of the oldest lease."""


class JobInspection(NamedTuple):
    """`figures`, `idle_reason`, `wait_reason` and `ready_hosts` of one moment. The wait reason does not cover a full
    Redis memory."""

    figures: Figures
    idle_reason: str | None
    wait_reason: str | None
    ready_hosts: int


class RedisInspection:
    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    async def next_ready_in(
        self, lanes: Sequence[Lane] = ALL_LANES, job: str | None = None, *, browser: bool = False
    ) -> float | None:
        args = {"lanes": [ALL_LANES.index(lane) for lane in lanes], "job": job or False, "browser": browser}
        seconds = await self._shard.run("next_ready", args)
        return None if seconds is False else float(seconds)

    async def idle_reason(self, job: str) -> str | None:
        return _text((await self._job(job)).get("idle_reason"))

    async def end_reason(self, job: str) -> str | None:
        return _text((await self._job(job)).get("end_reason"))

    async def wait_reason(self, job: str) -> str | None:
        if await self._shard.connection.memory_is_full():
            return "waiting: redis memory"
        return _wait_reason(await self._job(job))

    async def figures(self, job: str) -> Figures:
        return _figures(await self._job(job))

    async def ready_hosts(self, job: str) -> int:
        return int((await self._job(job))["ready_hosts"])

    async def inspect_job(self, job: str) -> JobInspection:
        state = await self._job(job)
        reasons = _text(state.get("idle_reason")), _wait_reason(state)
        return JobInspection(_figures(state), *reasons, int(state["ready_hosts"]))

    async def hosts(self, after: str = "", most: int | None = None) -> list[HostState]:
        """Hosts that were fetched lately or have an operator's settings. Reads the names of all hosts, however few are
        wanted, because they have no order in Redis."""
        return await self._clocks(await self._shard.hosts(after, most))

    async def host(self, name: str) -> HostState | None:
        known = await self._shard.connection.command("EXISTS", CLOCKS + name)
        return (await self._clocks([name]))[0] if known else None

    async def _clocks(self, names: Sequence[str]) -> list[HostState]:
        found: list[HostState] = []
        for start in range(0, len(names), _HOSTS_AT_ONCE):
            offset_s, states = await self._shard.run("hosts", {"hosts": names[start : start + _HOSTS_AT_ONCE]})
            found += [_host_state(state, offset_s) for state in states]
        return found

    async def counted(self) -> dict[str, int]:
        """Counter series -> the total of the whole fleet."""
        fields = await self._shard.connection.command("HGETALL", COUNTED)
        return {series.decode(): int(count) for series, count in fields.items()}

    async def survey(self) -> FrontierSurvey:
        """A job that is opened or ends during the call may be missing, or counted twice."""
        lanes = {lane: LaneSurvey() for lane in Lane}
        lease_s, cursor = 0.0, "0"
        while True:
            cursor, found, oldest_s = await self._shard.run("survey", {"cursor": cursor})
            lease_s = max(lease_s, oldest_s)
            # msgpack turns an empty Lua table into a list.
            for number, (queued, leased, overdue_s) in (found or {}).items():
                lane = ALL_LANES[int(number)]
                lanes[lane] = lanes[lane].with_more(queued, leased, overdue_s)
            if cursor == "0":
                return FrontierSurvey(lanes, lease_s)

    async def request_state(self, job: str, fingerprint: int, host: str) -> str | None:
        sought = {"job": job, "host": host, "fingerprint": str(fingerprint)}
        cursor = b"0"
        while True:
            look = {**sought, "cursor": cursor, "band": "h", "first": 0}
            cursor, moving, _, seen = await self._shard.run("request_state", look, raw=True)
            for request, state in zip(moving[::2], moving[1::2], strict=True):
                name, _, line = request.partition(b" ")
                if name == host.encode() and _is(line, host, fingerprint):
                    return str(state.decode())
            if cursor == b"0":
                break
        if seen and await self._is_queued(sought, fingerprint):
            return "queued"
        return "seen" if seen else None

    async def queued(self, job: str, most: int) -> AsyncIterator[tuple[Target, Trail]]:
        """About `most` of a job's queued requests. Of a long queue it returns only the head."""
        n = 0
        for rendered in (False, True):
            cursor = None
            while n < most and cursor != b"0":
                look = {"job": job, "cursor": cursor or b"0", "rendered": rendered}
                cursor, found = await self._shard.run("queued", look, raw=True)
                for host, elements in zip(found[::2], found[1::2], strict=True):
                    for request in requests_in(elements, host.decode()):
                        n += 1
                        yield request

    async def _is_queued(self, sought: dict[str, str], fingerprint: int) -> bool:
        for band in _BANDS:
            first, elements = 0, [b""]
            while elements:
                look = {**sought, "cursor": False, "band": band, "first": first}
                _, _, elements, _ = await self._shard.run("request_state", look, raw=True)
                first += len(elements)
                if any(_is(line, sought["host"], fingerprint) for each in elements for line in _lines(each)):
                    return True
        return False

    async def _is_lost(self, job: str) -> bool:
        return bool((await self._job(job))["state"] == "lost")

    async def _job(self, job: str) -> dict[str, Any]:
        state: dict[str, Any] = await self._shard.run("inspect_job", {"job": job})
        return state


def _lines(element: bytes) -> Sequence[bytes]:
    """The lines of a queue's element (queue.lua)."""
    try:
        _, lines = trail_and_lines(element)
    except ValueError:
        return ()
    return lines


def _is(line: bytes, host: str, fingerprint: int) -> bool:
    try:
        return target_of(line.decode(), host).fingerprint == fingerprint
    except ValueError:
        return False


def _figures(job: dict[str, Any]) -> Figures:
    # msgpack turns an empty Lua table into a list.
    counts = {name: job[name] for name in _COUNTS}
    return Figures(**counts, dropped=job["dropped"] or {}, for_browsers=int(job["rendered"]))


def _wait_reason(job: dict[str, Any]) -> str | None:
    if "waits_for" not in job:
        return None
    host = _host_state({**job["host"], "name": job["waits_for"], "queued_jobs": 0}, offset_s=0.0)
    return why_waiting(host._replace(next_at=job["starts_at"]), job["now"], job["waits_for_more"])


def _text(word: Any) -> str | None:
    return str(word) if word else None


def _host_state(state: dict[str, Any], offset_s: float) -> HostState:
    rate = None if state["rate"] is False else float(state["rate"])
    next_at = StartClock(state["next_at"], state["gap_s"]).for_any_job(rate, state["crawl_delay_s"])
    return HostState(
        name=state["name"],
        rate=rate,
        paused=state["paused"],
        in_flight=state["in_flight"],
        next_at=max(state["floor_at"], next_at) - offset_s,
        block_until=state["block_until"] - offset_s,
        block_reason=state["block_reason"],
        crawl_delay_s=state["crawl_delay_s"],
        slowdown=state["slowdown"],
        latency_s=state["recent_s"],
        fails=state["fails"],
        queued_jobs=state["queued_jobs"],
    )
