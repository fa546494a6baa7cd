"""The processes that work on a job with workers of its own (`Terms.own_workers`), and which of them are gone.

Each renews a key while it lives. The leases of one whose key has expired can be returned at once.
"""

from __future__ import annotations

from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG

ALIVE_S = 15
"""A process that is silent for longer counts as gone."""


class OwnWorkers:
    def __init__(self, connection: RedisConnection, job: str) -> None:
        self._command = connection.command
        self._all = f"{TAG}:own:{job}"

    async def beat(self, caller: str) -> None:
        await self._command("SET", self._key(caller), "", "EX", ALIVE_S)
        await self._command("SADD", self._all, caller)

    async def leave(self, caller: str) -> None:
        await self._command("SREM", self._all, caller)
        await self._command("DEL", self._key(caller))

    async def alive(self) -> list[str]:
        return [caller for caller, is_alive in await self._listed() if is_alive]

    async def gone(self) -> list[str]:
        return [caller for caller, is_alive in await self._listed() if not is_alive]

    async def _listed(self) -> list[tuple[str, bool]]:
        callers = sorted(name.decode() for name in await self._command("SMEMBERS", self._all))
        if not callers:
            return []
        found = await self._command("MGET", *map(self._key, callers))
        return [(caller, value is not None) for caller, value in zip(callers, found, strict=True)]

    def _key(self, caller: str) -> str:
        return f"{self._all}:{caller}"
