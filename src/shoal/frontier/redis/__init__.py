"""The frontier in Redis, for many workers: every verb is one Lua function, so it happens whole or not at all.

Time is the server's. A worker that loses its connection sends the same call again and gets the first reply.
docs/internals/frontier.md has the keys, the steps and the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.frontier.contract import ALL_LANES, HORIZON_S, LEASE_S, Call, Offered, Terms
from shoal.frontier.recent import Recent
from shoal.frontier.redis.bell import Bell
from shoal.frontier.redis.connection import Bounds
from shoal.frontier.redis.offering import PART, Group, fields_of, name_of, parts_of
from shoal.frontier.redis.outlook import Outlook
from shoal.frontier.redis.packing import (
    band_of,
    completion_fields,
    landing_fields,
    lease_of,
    line_of,
    trail_bytes,
)
from shoal.frontier.redis.shard import WAKE, Shard
from shoal.model import Completion, Landing, Lane, Lease, Offer, Target, Trail

__all__ = ["Bounds", "RedisFrontier"]

REAPED_AT_ONCE = 100
SWEEPS_PER_REAP = 2_000
CALLERS_REMEMBERED = 1_000
REMEMBERED_S = 10.0
"""What was remembered before so long a silence may no longer be true."""


class RedisFrontier(Outlook):
    def __init__(self, url: str, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._recent: Recent[str] = Recent()
        super().__init__(Shard(url, self._bounds, doubtful=self._recent.clear))
        self._offered: dict[str, tuple[int, Offered]] = {}
        """caller -> its last offer: a repeated one would find itself remembered."""
        self._bell = Bell(self._shard.connection, WAKE, self.next_ready_in)

    @classmethod
    async def open(cls, url: str, bounds: Bounds | None = None) -> RedisFrontier:
        """Raises Unavailable if there is no Redis, or not one that keeps what it is given."""
        frontier = cls(url, bounds)
        try:
            await frontier._shard.connection.check()
        except BaseException:
            await frontier.close()
            raise
        return frontier

    async def close(self) -> None:
        await self._shard.connection.close()

    async def wait(self, timeout_s: float) -> None:
        """Returns when something may be leased, or after timeout_s."""
        await self._bell.wait(timeout_s)

    async def open_job(self, job: str, terms: Terms) -> None:
        limits = {
            "pages_max": terms.pages,
            "pages_per_host": terms.pages_per_host,
            "bytes_max": terms.bytes,
            "stop_at": terms.stop_at,
        }
        fields: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        fields |= {"lane": ALL_LANES.index(terms.lane), "priority": terms.priority, "gap_s": terms.gap_s}
        fields |= {"per_host": terms.per_host, "robots": terms.robots}
        again = False
        while await self._shard.run("open", {"job": job, "terms": fields, "again": again}):
            again = True

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

    async def _offer(self, call: Call, part: list[Group]) -> Offered:
        bounds = {"per_job": self._bounds.queued_per_job, "in_all": self._bounds.queued_in_all}
        fields = fields_of(part)
        new, places = await self._once("offer", call, name_of(fields), {**bounds, "offers": fields})
        left = [part[place - 1].rest() for place in places]
        for place, group in enumerate(part, 1):
            if place not in places:
                self._recent.remember(group.offer.job, [target.fingerprint for target in group.targets])
        return Offered(new, left)

    async def lease(
        self, call: Call, n: int, lanes: Sequence[Lane] = ALL_LANES, horizon_s: float = HORIZON_S
    ) -> list[Lease]:
        wanted = {"n": min(n, PART), "lanes": [ALL_LANES.index(lane) for lane in lanes]}
        times = {"horizon_s": horizon_s, "lease_s": LEASE_S}
        now, *given = await self._once("lease", call, 1, {**wanted, **times}, raw=True)
        return [lease_of(token, data, now) for token, data in zip(given[::2], given[1::2], strict=True)]

    async def landed(self, call: Call, landings: Sequence[Landing]) -> None:
        await self._in_parts("landed", call, "landings", [landing_fields(landing) for landing in landings])

    async def extend(self, call: Call, tokens: Sequence[int], lease_s: float = LEASE_S) -> list[int]:
        replies = await self._in_parts("extend", call, "tokens", [str(token) for token in tokens], lease_s=lease_s)
        return [int(token) for held in replies for token in held]

    async def release(self, call: Call, tokens: Sequence[int], wait_s: float = 0.0) -> None:
        newest_first = [str(token) for token in sorted(tokens, reverse=True)]
        await self._in_parts("release", call, "tokens", newest_first, wait_s=wait_s)

    async def complete(self, call: Call, completions: Sequence[Completion]) -> list[bool]:
        fields = [completion_fields(completion) for completion in completions]
        return [held for part in await self._in_parts("complete", call, "completions", fields) for held in part]

    async def revive(self, call: Call, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        fields = [[target.host, band_of(trail), trail_bytes(trail), line_of(target)] for target, trail in requests]
        return sum(await self._in_parts("revive", call, "requests", fields, job=job))

    async def reap(self, blamed: Sequence[int] = (), *, all_leases: bool = False) -> int:
        args = {"blamed": {str(token): True for token in blamed}, "all_leases": all_leases, "most": REAPED_AT_ONCE}
        ended = last = await self._shard.run("reap", args)
        while last == REAPED_AT_ONCE:
            last = await self._shard.run("reap", args)
            ended += last
        for _ in range(SWEEPS_PER_REAP):
            if not await self._shard.run("sweep", {}):
                break
        return int(ended)

    async def pause(self, job: str) -> None:
        await self._shard.run("steer", {"word": "pause", "jobs": [job]})

    async def resume(self, job: str) -> None:
        await self._shard.run("steer", {"word": "resume", "jobs": [job]})

    async def cancel(self, job: str) -> None:
        await self._shard.run("steer", {"word": "cancel", "jobs": [job]})

    async def focus(self, jobs: Sequence[str]) -> None:
        await self._shard.run("steer", {"word": "focus", "jobs": list(jobs)})

    async def forget(self, job: str) -> None:
        await self._shard.run("steer", {"word": "forget", "jobs": [job]})
        self._recent.drop(job)

    async def met(self, job: str, host: str, crawl_delay_s: float) -> None:
        await self._shard.run("met", {"job": job, "host": host, "crawl_delay_s": crawl_delay_s})

    async def override(self, host: str, *, rate: float | None, paused: bool) -> None:
        await self._shard.run("override", {"host": host, "rate": False if rate is None else rate, "paused": paused})

    async def _in_parts(self, verb: str, call: Call, name: str, fields: list[Any], **more: Any) -> list[Any]:
        parts = [fields[start : start + PART] for start in range(0, len(fields), PART)]
        return [await self._once(verb, call, number, {name: part, **more}) for number, part in enumerate(parts, 1)]

    async def _once(self, verb: str, call: Call, part: int | bytes, args: dict[str, Any], raw: bool = False) -> Any:
        return await self._shard.run(verb, {"call": [call.caller, call.seq, part], **args}, raw)


def _sum(parts: list[Offered]) -> Offered:
    return Offered(sum(part.new for part in parts), [offer for part in parts for offer in part.left])
