"""One frontier in one Redis: runs its verbs, and knows when it is no longer the one it was.

A shard's keys share a hash tag, so that several can lie in a Cluster one day; until then there is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import nsmallest
from typing import Any

import msgpack

from shoal.frontier.redis.connection import Bounds, Connection
from shoal.frontier.redis.packing import packed

TAG = "{shoal:0}"
CLOCKS = f"{TAG}:h:"
WHOLE = f"{TAG}:whole"
JOBS = f"{TAG}:jobs"
BROKEN = f"{TAG}:broken"
COMPARED = f"{TAG}:compared"
WAKE = f"{TAG}:wake"
COUNTED = f"{TAG}:counted"


class Shard:
    def __init__(self, url: str, bounds: Bounds, doubtful: Callable[[], None]) -> None:
        """`doubtful` is called when Redis may have lost what it had confirmed: it broke off, was wiped, or a job
        in it began anew."""
        self.connection = Connection(url, bounds, doubtful)
        self._doubtful = doubtful
        self._epoch = 0.0
        self._heard_at = 0.0

    def silent_s(self) -> float:
        """How long ago it last answered, and would have told of another epoch."""
        return time.monotonic() - self._heard_at

    async def run(self, verb: str, args: dict[str, Any], raw: bool = False) -> Any:
        """`raw` leaves texts as bytes, for replies that hold requests."""
        reply = await self.connection.run(verb, TAG, packed(args))
        self._heard_at = time.monotonic()
        epoch, value = msgpack.unpackb(reply, raw=raw)
        if epoch not in (0, self._epoch):
            self._epoch = epoch
            self._doubtful()
        return value

    async def hosts(self, after: str, most: int | None) -> list[str]:
        """Those that have a clock, in order, from the first beyond `after` on: all, or so many, and then no more than
        those are held at any time."""
        names: set[str] = set()
        cursor: int | None = None
        while cursor != 0:
            cursor, keys = await self.connection.keys(cursor or 0, f"{CLOCKS}*")
            found = (key.decode()[len(CLOCKS) :] for key in keys)
            names.update(name for name in found if name > after)
            if most is not None and len(names) > most:
                names = set(nsmallest(most, names))
        return sorted(names)
