"""How an idle worker sleeps: until something may be leased, or its time is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from redis import exceptions

from shoal.frontier.redis.connection import Connection

APART_S = 0.02
"""Offers come thousands a second; one sleeper looks at most so often whether one is for it."""


class Bell:
    def __init__(self, connection: Connection, channel: str, ready_in: Callable[[], Awaitable[float | None]]) -> None:
        self._connection = connection
        self._channel = channel
        self._ready_in = ready_in
        self._woke_at = 0.0

    async def wait(self, timeout_s: float) -> None:
        await asyncio.sleep(max(0.0, min(timeout_s, self._woke_at + APART_S - time.monotonic())))
        deadline = time.monotonic() + timeout_s
        try:
            # Only while it sleeps, or what a busy worker does not read would pile up in Redis.
            async with self._connection.subscription() as subscription:
                await subscription.subscribe(self._channel)
                # After subscribing: what was offered before rings no more.
                ready_in_s = await self._ready_in()
                if ready_in_s is not None:
                    deadline = min(deadline, time.monotonic() + ready_in_s)
                while (left_s := deadline - time.monotonic()) > 0:
                    if await subscription.get_message(timeout=min(left_s, self._connection.answer_s / 2)):
                        break
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            # Whatever the caller does next is where patience with a lost server is.
            await asyncio.sleep(min(timeout_s, 1.0))
        self._woke_at = time.monotonic()
