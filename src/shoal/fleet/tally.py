"""What a fleet has done, counted in Redis: every process adds with its heartbeat what it has counted since the last, so
that whoever asks is told of all of them, and of those that are gone.

A series is a few words: what is counted, as a rule the lane, and what tells it from others of its kind.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from shoal.engine.ending import Ending
from shoal.errors import Unavailable
from shoal.frontier.contract import Call, Caller
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane, PageRecord

ENDED, FAILED, BYTES, TOOK_MS, WITHIN, REFUSED = "ended", "failed", "bytes", "took_ms", "within", "refused"
BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the times that pages took; one more is for those beyond."""
BEYOND = "beyond"
GOODBYE_S = 2.0
_BUCKET_NAMES = (*(f"{bound:g}" for bound in BUCKETS_S), BEYOND)

Series = tuple[str, ...]


class Tally:
    def __init__(self, caller: str) -> None:
        self._caller = Caller(caller)
        self._counts: Counter[Series] = Counter()
        self._sent: tuple[Call, Mapping[str, int]] | None = None

    def add(self, lane: Lane, end: Ending) -> None:
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
        """Broker messages that were set aside, by reason."""
        for reason, count in messages.items():
            self._counts[REFUSED, reason] += count

    async def send(self, frontier: RedisFrontier) -> None:
        """What was not confirmed is sent once more, as the same call, and counts once."""
        if self._sent is None and self._counts:
            self._sent = self._caller.next(), {" ".join(series): count for series, count in self._counts.items()}
            self._counts = Counter()
        if self._sent is not None:
            await frontier.count(*self._sent)
            self._sent = None

    async def say_goodbye(self, frontier: RedisFrontier) -> None:
        """If Redis is away, what was counted last is not."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await self.send(frontier)
                await self.send(frontier)


async def tallied(frontier: RedisFrontier) -> dict[Series, int]:
    """By the whole fleet, since Redis was new."""
    return {tuple(series.split(" ")): count for series, count in (await frontier.counted()).items()}
