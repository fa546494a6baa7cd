"""Waits for Redis and the database: a process that starts before its servers logs which one is away, and retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from shoal.engine.outage_retry import TRY_EVERY_S
from shoal.errors import Unavailable
from shoal.fleet.heartbeat_files import Heartbeat
from shoal.fleet.outage_log import OutageLog
from shoal.fleet.redis_owner import check_redis_owner
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.settings import Settings
from shoal.store.store import Store

AT_ONCE = PoolLimits(connections=2, answer_s=2.0, patience_s=1.0)
"""For callers that must not wait long for Redis."""


class ServerWait:
    def __init__(
        self, settings: Settings, heartbeat: Heartbeat, is_over: Callable[[], bool], outage_log: OutageLog | None = None
    ) -> None:
        """`outage_log` logs outages; without it another process does."""
        self._settings = settings
        self._heartbeat = heartbeat
        self._is_over = is_over
        self._outage_log = outage_log or OutageLog(None)

    async def store(self) -> Store | None:
        """Returns None if a stop was requested before the database was available."""
        place = self._settings.database_url or self._settings.home / "shoal.db"
        while not self._is_over():
            try:
                store = await asyncio.to_thread(Store.open, place)
            except Unavailable as reason:
                await self._wait(str(reason))
            else:
                self._outage_log.over()
                return store
        return None

    async def frontier(self, bounds: PoolLimits | None = None, role_of: Store | None = None) -> RedisFrontier | None:
        """Returns None like `store`. Reports a Redis that is away at once; the frontier waits if it goes away later.

        With `role_of`, raises UsageError if the Redis belongs to a fleet with another database.
        """
        assert self._settings.redis_url is not None
        while not self._is_over():
            try:
                await self._check(self._settings.redis_url, role_of)
            except Unavailable as reason:
                await self._wait(str(reason))
            else:
                self._outage_log.over()
                return RedisFrontier(self._settings.redis_url, bounds or PoolLimits(lease_s=self._settings.lease_s))
        return None

    async def _check(self, url: str, role_of: Store | None) -> None:
        found = await RedisFrontier.open(url, AT_ONCE)
        try:
            if role_of is not None:
                await check_redis_owner(found.connection, role_of)
        finally:
            await found.close()

    async def _wait(self, reason: str) -> None:
        self._outage_log.waits(reason)
        self._heartbeat.progressed(time.monotonic(), reason)
        await asyncio.sleep(TRY_EVERY_S)
