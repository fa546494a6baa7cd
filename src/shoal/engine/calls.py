"""The frontier as one worker calls it: every call numbered, one at a time for each verb, and patient.

A frontier remembers the last reply to each verb of a caller, so a verb's calls must not overtake each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from shoal.engine.patience import Patience
from shoal.errors import FrontierLost
from shoal.frontier.contract import Caller, Ended, Frontier, Offered
from shoal.model import Completion, Landing, Lane, Lease, Offer

T = TypeVar("T")


class Calls:
    def __init__(self, frontier: Frontier, caller: str, patience: Patience) -> None:
        self._frontier = frontier
        self._patience = patience
        self._callers: defaultdict[str, Caller] = defaultdict(lambda: Caller(caller))
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def lease(self, n: int, lanes: Sequence[Lane]) -> list[Lease]:
        return await self._numbered(self._frontier.lease, n, lanes)

    async def landed(self, landings: Sequence[Landing]) -> None:
        await self._numbered(self._frontier.landed, landings)

    async def release(self, tokens: Sequence[int], wait_s: float) -> None:
        await self._numbered(self._frontier.release, tokens, wait_s)

    async def extend(self, tokens: Sequence[int]) -> None:
        await self._numbered(self._frontier.extend, tokens)

    async def offer(self, offers: Sequence[Offer]) -> Offered:
        return await self._numbered(self._frontier.offer, offers)

    async def recall(self, job: str, endings: Sequence[Ended]) -> None:
        await self._numbered(self._frontier.recall, job, endings)

    async def complete(self, completions: Sequence[Completion]) -> None:
        await self._numbered(self._frontier.complete, completions)

    async def touch(self, job: str) -> None:
        try:
            await self._patience.insist(self._frontier.touch, job)
        except FrontierLost:
            # It is being rebuilt, which every worker hears of.
            pass

    async def _numbered(self, verb: Callable[..., Awaitable[T]], *args: Any) -> T:
        name = getattr(verb, "__name__", "")

        async def call() -> T:
            # Numbered at each try anew: one that found the disk full has changed nothing, and what a server did without
            # our hearing of it costs a repetition, or leases that expire.
            return await verb(self._callers[name].next(), *args)

        async with self._turns[name]:
            return await self._patience.insist(call)
