"""The frontier in Redis, for many workers. Every verb is one Lua function, so it is atomic.

All times are the server's. A worker that loses its connection sends the same call again and gets the first reply.
docs/internals/frontier.md describes the keys, the steps and the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from shoal.errors import FrontierLost
from shoal.frontier.contract import ALL_LANES, HORIZON_S, Call, Ended, Offered, Terms
from shoal.frontier.recent_offers import RecentOffers
from shoal.frontier.redis.connection_pool import PoolLimits, RedisConnection
from shoal.frontier.redis.inspection import RedisInspection
from shoal.frontier.redis.offer_batches import PART, HostOffers, digest_of_part, fields_of, parts_of
from shoal.frontier.redis.serialize import (
    band_of,
    completion_fields,
    ended_fields,
    landing_fields,
    lease_of,
    line_of,
    trail_bytes,
)
from shoal.frontier.redis.shard import BROKEN, COMPARED, INTACT, JOBS, WAKE, Shard
from shoal.frontier.redis.wake_up import WakeUp
from shoal.frontier.validation import (
    check_completions,
    check_landings,
    check_rate,
    check_seconds,
    check_terms,
)
from shoal.model import Completion, Landing, Lane, Lease, Offer, Target, Trail

__all__ = ["PoolLimits", "RedisFrontier"]

REAPED_AT_ONCE = 100
SWEEPS_PER_REAP = 2_000
CALLERS_REMEMBERED = 1_000
REMEMBERED_S = 10.0
"""After this long without an answer, remembered offers may no longer be true."""


class RedisFrontier(RedisInspection):
    def __init__(self, url: str, bounds: PoolLimits | None = None) -> None:
        self._bounds = bounds or PoolLimits()
        self.lease_s = self._bounds.lease_s
        self._recent = RecentOffers()
        super().__init__(Shard(url, self._bounds, doubtful=self._recent.clear))
        self._offered: dict[str, tuple[int, Offered]] = {}
        """caller -> its last offer. Without it, a repeated offer would count as offered before."""
        self._wake_up = WakeUp(self.connection, WAKE, self._ready_in)
        self._run_id = self._seen_run_id = ""

    @classmethod
    async def open(cls, url: str, bounds: PoolLimits | None = None) -> RedisFrontier:
        """Raises Unavailable if there is no Redis, or one that might lose requests."""
        frontier = cls(url, bounds)
        try:
            await frontier.connection.check()
        except BaseException:
            # Nobody else closes it: it is not handed out.
            await frontier.close()
            raise
        return frontier

    async def close(self) -> None:
        await self._wake_up.close()
        await self.connection.close()

    @property
    def connection(self) -> RedisConnection:
        return self._shard.connection

    async def is_intact(self) -> bool:
        """False after a wipe or a restart of Redis, which may have lost its last second, until `mark_intact`."""
        self._run_id = await self.connection.run_id()
        marked: bytes | None = await self.connection.command("GET", INTACT)
        return marked == self._run_id.encode()

    async def mark_intact(self) -> None:
        """Marks the run of Redis that `is_intact` last saw. A run that began later is not intact yet."""
        run_id = self._run_id or await self.connection.run_id()
        await self.connection.command("SET", INTACT, run_id)
        # Only for a new Redis: otherwise `mark_compared` sets which run was compared.
        await self.connection.command("SET", COMPARED, run_id, "NX")

    async def jobs(self) -> list[str]:
        """Jobs that have queues here."""
        return [name.decode() for name in await self.connection.command("SMEMBERS", JOBS)]

    async def awaits_comparison(self) -> bool:
        """Whether Redis was restarted, or a replica took over, since `mark_intact` or `mark_compared`. It may then be
        behind the store, and returns no leases until `mark_compared`."""
        # Apart from the run that `is_intact` saw: since then jobs may be being restored for an earlier run.
        self._seen_run_id = await self.connection.run_id()
        marked: bytes | None = await self.connection.command("GET", COMPARED)
        return marked not in (None, self._seen_run_id.encode())

    async def mark_compared(self) -> None:
        """Marks the run that `awaits_comparison` last saw."""
        await self.connection.command("SET", COMPARED, self._seen_run_id)
        await self.connection.command("PUBLISH", WAKE, "")

    async def broken_by(self) -> str | None:
        """The verb and error of a call that failed halfway. Every job must then be restored."""
        found: bytes | None = await self.connection.command("GET", BROKEN)
        return None if found is None else found.decode(errors="replace")

    async def erase_all_jobs(self) -> None:
        """Erases every job, also half-changed ones. The frontier is not intact until all are restored."""
        await self.connection.command("DEL", INTACT)
        for name in await self.jobs():
            with suppress(FrontierLost):
                await self.erase(name)
            await self.connection.command("SREM", JOBS, name)
        await self.connection.command("DEL", BROKEN)

    async def knows(self, job: str) -> bool:
        """False also for a job that still waits for `recall`."""
        try:
            return not await self._is_lost(job)
        except FrontierLost:
            return False

    async def wait(self, timeout_s: float, lanes: Sequence[Lane] = ALL_LANES, *, browser: bool = False) -> None:
        await self._wake_up.wait(timeout_s, lanes, browser)

    async def _ready_in(self, lanes: Sequence[Lane], browser: bool) -> float | None:
        return await self.next_ready_in(lanes, browser=browser)

    async def open_job(self, job: str, terms: Terms, *, lost: bool = False) -> None:
        await self._open(job, terms, known=False, lost=lost)

    async def change(self, job: str, terms: Terms) -> None:
        await self._open(job, terms, known=True)

    async def _open(self, job: str, terms: Terms, known: bool, lost: bool = False) -> None:
        check_terms(terms)
        limits = {
            "pages_max": terms.pages,
            "pages_per_host": terms.pages_per_host,
            "assets_max": terms.assets,
            "bytes_max": terms.bytes,
            "stop_at": terms.stop_at,
            "cost_max": terms.cost,
        }
        fields: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        fields |= {
            "lane": ALL_LANES.index(terms.lane),
            "owner": terms.owner,
            "priority": terms.priority,
            "gap_s": terms.gap_s,
        }
        fields |= {"per_host": terms.per_host, "robots": terms.robots, "own_workers": terms.own_workers}
        fields |= {"browser": terms.browser, "spent": terms.spent}
        if terms.hosts:
            fields["hosts"] = {own.host: [own.gap_s, own.per_host] for own in terms.hosts}
        args = {"job": job, "terms": fields, "known": known, "lost": lost}
        again = False
        while await self._shard.run("open", {**args, "again": again}):
            again = True

    async def touch(self, job: str) -> None:
        await self._shard.run("steer", {"word": "touch", "jobs": [job]})

    async def offer(self, call: Call, offers: Sequence[Offer]) -> Offered:
        seq, offered = self._offered.get(call.caller, (0, Offered(0)))
        if seq != call.seq:
            if self._shard.silent_s() > REMEMBERED_S:
                self._recent.clear()
            parts = parts_of(offers, self._recent)
            offered = _sum([await self._offer(call, part) for part in parts])
            if len(self._offered) >= CALLERS_REMEMBERED:
                self._offered.clear()
            self._offered[call.caller] = call.seq, offered
        return offered

    async def _offer(self, call: Call, part: list[HostOffers]) -> Offered:
        bounds = {"per_job": self._bounds.queued_per_job, "in_all": self._bounds.queued_in_all}
        fields = fields_of(part)
        new, places = await self._once("offer", call, digest_of_part(fields), {**bounds, "offers": fields})
        left = [part[place - 1].to_offer() for place in places]
        for place, group in enumerate(part, 1):
            if place not in places:
                self._recent.remember(group.offer.job, [target.fingerprint for target in group.targets])
        return Offered(new, left)

    async def lease(
        self,
        call: Call,
        n: int,
        lanes: Sequence[Lane] = ALL_LANES,
        horizon_s: float = HORIZON_S,
        job: str | None = None,
        browsers: int = 0,
    ) -> list[Lease]:
        check_seconds("horizon_s", horizon_s)
        wanted = {"n": min(n, PART), "lanes": [ALL_LANES.index(lane) for lane in lanes], "job": job or False}
        times = {"horizon_s": horizon_s, "lease_s": self.lease_s}
        now, *given = await self._once("lease", call, 1, {**wanted, **times, "browsers": browsers}, raw=True)
        return [lease_of(token, data, now) for token, data in zip(given[::2], given[1::2], strict=True)]

    async def landed(self, call: Call, landings: Sequence[Landing]) -> None:
        check_landings(landings)
        await self._in_parts("landed", call, "landings", [landing_fields(landing) for landing in landings])

    async def extend(self, call: Call, tokens: Sequence[int]) -> list[int]:
        names = [str(token) for token in tokens]
        replies = await self._in_parts("extend", call, "tokens", names, lease_s=self.lease_s)
        return [int(token) for held in replies for token in held]

    async def release(
        self, call: Call, tokens: Sequence[int], wait_s: float = 0.0, needs_browser: bool = False
    ) -> None:
        check_seconds("wait_s", wait_s)
        newest_first = [str(token) for token in sorted(tokens, reverse=True)]
        await self._in_parts("release", call, "tokens", newest_first, wait_s=wait_s, needs_browser=needs_browser)

    async def complete(self, call: Call, completions: Sequence[Completion]) -> list[bool]:
        check_completions(completions)
        fields = [completion_fields(completion) for completion in completions]
        return [held for part in await self._in_parts("complete", call, "completions", fields) for held in part]

    async def revive(self, call: Call, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        fields = [[target.host, band_of(trail), trail_bytes(trail), line_of(target)] for target, trail in requests]
        return sum(await self._in_parts("revive", call, "requests", fields, job=job))

    async def recall(self, call: Call, job: str, ended: Sequence[Ended]) -> int:
        fields = [ended_fields(each) for each in ended]
        return sum(await self._in_parts("recall", call, "ended", fields, job=job))

    async def reap(self, blamed: Sequence[int] = (), gone: Sequence[str] = (), *, all_leases: bool = False) -> int:
        args = {
            "blamed": {str(token): blamed.count(token) for token in blamed},
            "all_leases": all_leases,
            "most": REAPED_AT_ONCE,
        }
        ended = last = (await self._shard.run("reap", args))[0]
        while last == REAPED_AT_ONCE:
            last = (await self._shard.run("reap", args))[0]
            ended += last
        if gone:
            ended += await self._reap_gone({**args, "gone": list(gone)})
        for _ in range(SWEEPS_PER_REAP):
            if not await self._shard.run("sweep", {}):
                break
        return int(ended)

    async def _reap_gone(self, args: dict[str, Any]) -> int:
        ended, cursor = await self._shard.run("reap", {**args, "cursor": "0"})
        while cursor != "0":
            more, cursor = await self._shard.run("reap", {**args, "cursor": cursor})
            ended += more
        return int(ended)

    async def pause(self, job: str) -> None:
        await self._shard.run("steer", {"word": "pause", "jobs": [job]})

    async def resume(self, job: str) -> None:
        await self._shard.run("steer", {"word": "resume", "jobs": [job]})

    async def cancel(self, job: str) -> None:
        await self._shard.run("steer", {"word": "cancel", "jobs": [job]})

    async def forget(self, job: str) -> None:
        await self._shard.run("steer", {"word": "forget", "jobs": [job]})
        self._recent.drop(job)

    async def erase(self, job: str) -> None:
        await self._shard.run("steer", {"word": "erase", "jobs": [job]})

    async def record_robots_answer(self, job: str, host: str, crawl_delay_s: float) -> None:
        check_seconds("crawl_delay_s", crawl_delay_s)
        await self._shard.run("record_robots_answer", {"job": job, "host": host, "crawl_delay_s": crawl_delay_s})

    async def override(self, host: str, *, rate: float | None, paused: bool) -> None:
        check_rate(rate)
        await self._shard.run("override", {"host": host, "rate": False if rate is None else rate, "paused": paused})

    async def count(self, call: Call, counts: Mapping[str, int]) -> None:
        """Adds to the counters of the whole fleet."""
        await self._once("count", call, 1, {"counts": [field for series in counts.items() for field in series]})

    async def _in_parts(self, verb: str, call: Call, name: str, fields: list[Any], **more: Any) -> list[Any]:
        parts = [fields[start : start + PART] for start in range(0, len(fields), PART)]
        return [await self._once(verb, call, number, {name: part, **more}) for number, part in enumerate(parts, 1)]

    async def _once(self, verb: str, call: Call, part: int | bytes, args: dict[str, Any], raw: bool = False) -> Any:
        return await self._shard.run(verb, {"call": [call.caller, call.seq, part], **args}, raw)


def _sum(parts: list[Offered]) -> Offered:
    return Offered(sum(part.new for part in parts), [offer for part in parts for offer in part.left])
