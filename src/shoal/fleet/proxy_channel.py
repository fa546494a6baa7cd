"""Passes what one process of a fleet learns about proxies to the others, through a stream in Redis.

    {shoal:0}:proxies    stream; each entry has its sender and rows of figures, as JSON

Nothing depends on the stream: the store keeps the figures, and a process that misses entries finds out for itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG
from shoal.store.proxies.figures import ProxyFigures

KEY = f"{TAG}:proxies"
MOST_ENTRIES = 500
MOST_ROWS = 1_000
"""In one entry: first those about all hosts, and those that cool."""
_EXPIRES_S = 3_600


class RedisHealthChannel:
    """Receives what is published from its first call on."""

    def __init__(self, connection: RedisConnection, sender: str) -> None:
        self._connection = connection
        self._sender = sender
        self._last: str | None = None

    async def publish(self, rows: Sequence[ProxyFigures]) -> None:
        if not rows:
            return
        important = sorted(rows, key=lambda row: (bool(row.host), -row.cool_until))[:MOST_ROWS]
        entry = json.dumps({"from": self._sender, "rows": important})
        await self._connection.command("XADD", KEY, "MAXLEN", "~", str(MOST_ENTRIES), "*", "d", entry)
        await self._connection.command("EXPIRE", KEY, str(_EXPIRES_S))

    async def receive(self) -> list[ProxyFigures]:
        if self._last is None:
            newest = await self._connection.command("XREVRANGE", KEY, "+", "-", "COUNT", "1")
            self._last = newest[0][0].decode() if newest else "0-0"
            return []
        rows: list[ProxyFigures] = []
        for id, fields in await self._connection.command("XRANGE", KEY, f"({self._last}", "+"):
            self._last = id.decode()
            entry = json.loads(fields[1] if isinstance(fields, list) else fields[b"d"])
            if entry["from"] != self._sender:
                rows += [ProxyFigures._make(row) for row in entry["rows"]]
        return rows
