"""The fleet's counters, summed in Redis: each process adds its counts with every heartbeat, so that the sums include
processes that have ended.

A series is a tuple of words: the metric, usually the lane, and the label that distinguishes it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from shoal.engine.request_result import RequestResult
from shoal.errors import Unavailable
from shoal.frontier.contract import Call, Caller
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane, PageRecord

ENDED, FAILED, BYTES, TOOK_MS, WITHIN, REFUSED = "ended", "failed", "bytes", "took_ms", "within", "refused"
BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of page durations; one more bucket is for longer ones."""
BEYOND = "beyond"
FLUSH_S = 2.0
_BUCKET_NAMES = (*(f"{bound:g}" for bound in BUCKETS_S), BEYOND)

Series = tuple[str, ...]


class Counters:
    def __init__(self, caller: str) -> None:
        self._caller = Caller(caller)
        self._counts: Counter[Series] = Counter()
        self._sent: tuple[Call, Mapping[str, int]] | None = None

    def add(self, lane: Lane, end: RequestResult) -> None:
        counts = self._counts
        counts[ENDED, lane, end.completion.outcome] += 1
        if end.failed:
            kind, status = end.failed
            counts[FAILED, lane, str(status) if kind == "http" else kind] += 1
        if isinstance(end.record, PageRecord):
            counts[BYTES, lane] += end.record.bytes
            counts[TOOK_MS, lane] += end.record.duration_ms
            counts[WITHIN, lane, _BUCKET_NAMES[bisect_left(BUCKETS_S, end.record.duration_ms / 1000)]] += 1

    def add_refused(self, messages: Mapping[str, int]) -> None:
        """Adds discarded broker messages, by reason."""
        for reason, count in messages.items():
            self._counts[REFUSED, reason] += count

    async def send(self, frontier: RedisFrontier) -> None:
        """Sends an unconfirmed batch again as the same call, so that it counts once."""
        if self._sent is None and self._counts:
            self._sent = self._caller.next(), {" ".join(series): count for series, count in self._counts.items()}
            self._counts = Counter()
        if self._sent is not None:
            await frontier.count(*self._sent)
            self._sent = None

    async def flush(self, frontier: RedisFrontier) -> None:
        """Sends the last counts; they are lost if Redis is away."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self.send(frontier)
                await self.send(frontier)


async def read_counters(frontier: RedisFrontier) -> dict[Series, int]:
    """The sums of the whole fleet since Redis was empty."""
    return {tuple(series.split(" ")): count for series, count in (await frontier.counted()).items()}
