"""The frontier as one worker calls it: it numbers every call, makes one at a time for each verb, and retries.

A frontier remembers the last reply to each verb of a caller, so calls of one verb must not overtake each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from shoal.engine.outage_retry import OutageRetry
from shoal.errors import FrontierLost
from shoal.frontier.contract import HORIZON_S, Caller, Ended, Frontier, Offered, SettlingFrontier
from shoal.model import Completion, Landing, Lane, Lease, Offer

T = TypeVar("T")


class FrontierClient:
    def __init__(self, frontier: Frontier, caller: str, outages: OutageRetry) -> None:
        self._frontier = frontier
        self._settling = frontier if isinstance(frontier, SettlingFrontier) else None
        self._outages = outages
        self._callers: defaultdict[str, Caller] = defaultdict(lambda: Caller(caller))
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def lease(self, n: int, lanes: Sequence[Lane], browsers: int) -> list[Lease]:
        return await self._numbered(self._frontier.lease, n, lanes, HORIZON_S, None, browsers)

    async def landed(self, landings: Sequence[Landing]) -> None:
        await self._numbered(self._frontier.landed, landings)

    async def release(self, tokens: Sequence[int], wait_s: float, needs_browser: bool = False) -> None:
        await self._numbered(self._frontier.release, tokens, wait_s, needs_browser)

    async def extend(self, tokens: Sequence[int]) -> None:
        await self._numbered(self._frontier.extend, tokens)

    async def offer(self, offers: Sequence[Offer]) -> Offered:
        return await self._numbered(self._frontier.offer, offers)

    async def recall(self, job: str, ended: Sequence[Ended]) -> None:
        await self._numbered(self._frontier.recall, job, ended)

    async def complete(self, completions: Sequence[Completion]) -> list[bool]:
        """False for leases that had expired."""
        return await self._numbered(self._frontier.complete, completions)

    @property
    def settles(self) -> bool:
        """Whether it has `settle`."""
        return self._settling is not None

    async def settle(
        self, offers: Sequence[Offer], landings: Sequence[Landing], completions: Sequence[Completion]
    ) -> list[bool]:
        """Like `offer`, `landed` and `complete`. False for leases that had expired."""
        assert self._settling is not None
        return await self._numbered(self._settling.settle, offers, landings, completions)

    async def touch(self, job: str) -> None:
        try:
            await self._outages.keep_trying(self._frontier.touch, job)
        except FrontierLost:
            # The job is being rebuilt, which raises its edition too.
            pass

    async def _numbered(self, verb: Callable[..., Awaitable[T]], *args: Any) -> T:
        name = getattr(verb, "__name__", "")

        async def call() -> T:
            # Each try gets a new number. A try that found the disk full has changed nothing. If a server made a call
            # and its reply was lost, that costs a repetition, or leases that expire.
            return await verb(self._callers[name].next(), *args)

        async with self._turns[name]:
            return await self._outages.keep_trying(call)
