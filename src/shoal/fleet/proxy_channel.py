"""Passes what one process of a fleet learns about proxies to the others, through a stream in Redis.

    {shoal:0}:proxies              stream; each entry has its sender and rows of figures, as JSON
    {shoal:0}:proxy_users:<pool>   zset; the processes and jobs that use a pool -> when they last said so

Nothing depends on the stream: the store keeps the figures, and a process that misses entries finds out for itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from shoal.fetch.proxies.limit_share import NOTHING, LimitShare
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG
from shoal.store.proxies.figures import ProxyFigures

KEY = f"{TAG}:proxies"
USERS = f"{TAG}:proxy_users:"
USER_S = 12.0
"""A user that was not heard of for so long is gone."""
KNOWN_AFTER_S = 4.0
"""By then all other users have asked for their shares again, and leave a part to a new one."""
MOST_ENTRIES = 500
MOST_ROWS = 1_000
"""In one entry: first those about all hosts, and those that cool."""
_EXPIRES_S = 3_600


class RedisHealthChannel:
    """Receives what is published from its first call on."""

    def __init__(self, connection: RedisConnection, sender: str, known_after_s: float = KNOWN_AFTER_S) -> None:
        self._connection = connection
        self._sender = sender
        self._known_after_s = known_after_s
        self._last: str | None = None
        self._users: dict[str, tuple[float, float]] = {}
        """User of a pool -> when it joined, and when it last asked."""

    async def publish(self, rows: Sequence[ProxyFigures]) -> None:
        if not rows:
            return
        important = sorted(rows, key=lambda row: (bool(row.host), -row.cool_until))[:MOST_ROWS]
        entry = json.dumps({"from": self._sender, "rows": important})
        await self._connection.command("XADD", KEY, "MAXLEN", "~", str(MOST_ENTRIES), "*", "d", entry)
        await self._connection.command("EXPIRE", KEY, str(_EXPIRES_S))

    async def share(self, pool: str, job: str) -> LimitShare:
        key, user = f"{USERS}{pool}", f"{self._sender} {job}"
        seconds, micros = await self._connection.command("TIME")
        now = int(seconds) + int(micros) / 1e6
        await self._connection.command("ZADD", key, repr(now), user)
        await self._connection.command("ZREMRANGEBYSCORE", key, "-inf", repr(now - USER_S))
        await self._connection.command("EXPIRE", key, str(_EXPIRES_S))
        joined_at, asked_at = self._users.get(f"{pool} {user}", (now, now))
        joined_at = joined_at if now - asked_at < USER_S else now
        self._users[f"{pool} {user}"] = joined_at, now
        if now - joined_at < self._known_after_s:
            return NOTHING
        users = sorted(await self._connection.command("ZRANGE", key, "0", "-1"))
        return LimitShare(users.index(user.encode()), len(users))

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
