"""Lets idle workers sleep until a request of their lanes may be leased, or their timeout ends.

A sleeper only waits for an event, and may be cancelled at any point. One task talks to Redis for all of them, because
a cancelled command costs its connection.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from redis import exceptions
from redis.asyncio.client import PubSub

from shoal.errors import Unavailable
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.model import Lane

APART_S = 0.02
"""Thousands of offers may arrive in a second. The task checks no more often than this whether one is for a sleeper."""
LOOK_S = 0.05
"""How long the task may take to notice a new sleeper, or one that is gone."""
AWAY_S = 1.0


@dataclass(eq=False, slots=True)
class Sleeper:
    lanes: Sequence[Lane]
    browser: bool
    woken: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    ready_at: float | None = None
    """None: Redis was not asked since its last message."""


class WakeUp:
    def __init__(
        self,
        connection: RedisConnection,
        channel: str,
        ready_in: Callable[[Sequence[Lane], bool], Awaitable[float | None]],
    ) -> None:
        """`ready_in` gets the lanes of a sleeper, and whether it has a browser."""
        self._connection = connection
        self._channel = channel
        self._ready_in = ready_in
        self._sleepers: set[Sleeper] = set()
        self._watch: asyncio.Task[None] | None = None
        self._woke_at = 0.0

    async def wait(self, timeout_s: float, lanes: Sequence[Lane], browser: bool) -> None:
        deadline = time.monotonic() + timeout_s
        await asyncio.sleep(max(0.0, min(timeout_s, self._woke_at + APART_S - time.monotonic())))
        sleeper = Sleeper(lanes, browser)
        self._sleepers.add(sleeper)
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._serve_sleepers())
        try:
            await asyncio.wait([sleeper.woken], timeout=max(0.0, deadline - time.monotonic()))
        finally:
            self._sleepers.discard(sleeper)
        self._woke_at = time.monotonic()

    async def close(self) -> None:
        self._sleepers.clear()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])

    async def _serve_sleepers(self) -> None:
        while self._sleepers:
            try:
                # Only while somebody sleeps: otherwise unread messages would pile up in Redis.
                async with self._connection.subscription() as subscription:
                    while self._sleepers:
                        await self._until_message(subscription)
            except (exceptions.ConnectionError, exceptions.TimeoutError, Unavailable):
                # The next command of the worker waits for a server that is away.
                await asyncio.sleep(AWAY_S)
                for sleeper in list(self._sleepers):
                    self._wake(sleeper)

    async def _until_message(self, subscription: PubSub) -> None:
        await self._connection.subscribe(subscription, self._channel)
        # Confirmed first, because the query uses another connection and could overtake the subscription.
        if not await _receives(subscription, "subscribe", self._connection.answer_s):
            raise exceptions.TimeoutError("no answer to a subscription")
        rang = False
        while self._sleepers and not rang:
            rang = await _receives(subscription, "message", await self._wake_ready())
        await subscription.unsubscribe(self._channel)
        for sleeper in self._sleepers:
            sleeper.ready_at = None
        await asyncio.sleep(APART_S)

    async def _wake_ready(self) -> float:
        """Queries for new sleepers, wakes those whose time has come, and returns the seconds until the next check."""
        for sleeper in list(self._sleepers):
            if sleeper.ready_at is None:
                ready_in_s = await self._ready_in(sleeper.lanes, sleeper.browser)
                sleeper.ready_at = math.inf if ready_in_s is None else time.monotonic() + ready_in_s
            if sleeper.ready_at <= time.monotonic():
                self._wake(sleeper)
        soonest = min((sleeper.ready_at or 0.0 for sleeper in self._sleepers), default=0.0)
        return max(0.0, min(LOOK_S, soonest - time.monotonic()))

    def _wake(self, sleeper: Sleeper) -> None:
        self._sleepers.discard(sleeper)
        if not sleeper.woken.done():
            sleeper.woken.set_result(None)


async def _receives(subscription: PubSub, kind: str, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while (left_s := deadline - time.monotonic()) > 0:
        message = await subscription.get_message(timeout=left_s)
        if message and message["type"] == kind:
            return True
    return False
