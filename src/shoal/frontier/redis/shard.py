"""One frontier in one Redis: runs its verbs, and notices when Redis may have lost data.

A shard's keys share a hash tag, so that several shards could share a Cluster. Today there is one shard.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import nsmallest
from typing import Any

import msgpack

from shoal.frontier.redis.connection_pool import PoolLimits, RedisConnection
from shoal.frontier.redis.serialize import packed

TAG = "{shoal:0}"
CLOCKS = f"{TAG}:h:"
INTACT = f"{TAG}:whole"
JOBS = f"{TAG}:jobs"
BROKEN = f"{TAG}:broken"
COMPARED = f"{TAG}:compared"
WAKE = f"{TAG}:wake"
COUNTED = f"{TAG}:counted"


class Shard:
    def __init__(self, url: str, bounds: PoolLimits, doubtful: Callable[[], None]) -> None:
        """Calls `doubtful` when Redis may have lost what it had confirmed: the connection broke, Redis was wiped, or a
        job in it was opened again."""
        self.connection = RedisConnection(url, bounds, doubtful)
        self._doubtful = doubtful
        self._epoch = 0.0
        self._heard_at = 0.0

    def silent_s(self) -> float:
        """Seconds since it last answered. Each answer shows whether the epoch changed."""
        return time.monotonic() - self._heard_at

    async def run(self, verb: str, args: dict[str, Any], raw: bool = False) -> Any:
        """`raw` returns texts as bytes, for replies that contain requests."""
        reply = await self.connection.run(verb, TAG, packed(args))
        self._heard_at = time.monotonic()
        epoch, value = msgpack.unpackb(reply, raw=raw)
        if epoch not in (0, self._epoch):
            self._epoch = epoch
            self._doubtful()
        return value

    async def hosts(self, after: str, most: int | None) -> list[str]:
        """Sorted names of hosts that have a clock, starting after `after`: all, or at most `most`. It never holds more
        names in memory than it returns."""
        names: set[str] = set()
        cursor: int | None = None
        while cursor != 0:
            cursor, keys = await self.connection.keys(cursor or 0, f"{CLOCKS}*")
            found = (key.decode()[len(CLOCKS) :] for key in keys)
            names.update(name for name in found if name > after)
            if most is not None and len(names) > most:
                names = set(nsmallest(most, names))
        return sorted(names)
