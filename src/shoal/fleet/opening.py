"""Redis and the database, waited for: a process that starts before its servers says which and where, and tries on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from shoal.engine.patience import TRY_EVERY_S
from shoal.errors import Unavailable
from shoal.fleet.claim import check_ours
from shoal.fleet.life import Life
from shoal.fleet.trouble import Trouble
from shoal.frontier.redis import Bounds, RedisFrontier
from shoal.settings import Settings
from shoal.store.store import Store

AT_ONCE = Bounds(connections=2, answer_s=2.0, patience_s=1.0)
"""For whoever has better to do than to wait for Redis."""


class Opening:
    def __init__(
        self, settings: Settings, life: Life, is_over: Callable[[], bool], trouble: Trouble | None = None
    ) -> None:
        """`trouble` tells; without it another process does."""
        self._settings = settings
        self._life = life
        self._is_over = is_over
        self._trouble = trouble or Trouble(None)

    async def store(self) -> Store | None:
        """None if it was told to stop before there was one."""
        place = self._settings.database_url or self._settings.home / "shoal.db"
        while not self._is_over():
            try:
                store = await asyncio.to_thread(Store.open, place)
            except Unavailable as reason:
                await self._wait(str(reason))
            else:
                self._trouble.over()
                return store
        return None

    async def frontier(self, bounds: Bounds | None = None, role_of: Store | None = None) -> RedisFrontier | None:
        """None as above. It is patient with a Redis that goes away later; one that is not there is told of at once.

        Raises UsageError to a role of the fleet with this store if the Redis is another fleet's.
        """
        assert self._settings.redis_url is not None
        while not self._is_over():
            try:
                await self._look(self._settings.redis_url, role_of)
            except Unavailable as reason:
                await self._wait(str(reason))
            else:
                self._trouble.over()
                return RedisFrontier(self._settings.redis_url, bounds or Bounds(lease_s=self._settings.lease_s))
        return None

    async def _look(self, url: str, role_of: Store | None) -> None:
        found = await RedisFrontier.open(url, AT_ONCE)
        try:
            if role_of is not None:
                await check_ours(found.connection, role_of)
        finally:
            await found.close()

    async def _wait(self, reason: str) -> None:
        self._trouble.waits(reason)
        self._life.progressed(time.monotonic(), reason)
        await asyncio.sleep(TRY_EVERY_S)
