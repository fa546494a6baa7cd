"""The frontier as one worker calls it: every call numbered, one at a time for each verb, and patient with a full disk.

A frontier remembers the last reply to each verb of a caller, so a verb's calls must not overtake each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from shoal.engine.patience import Patience
from shoal.frontier.contract import Caller, Frontier, Offered
from shoal.model import Completion, Landing, Lease, Offer

T = TypeVar("T")


class Calls:
    def __init__(self, frontier: Frontier, caller: str, patience: Patience) -> None:
        self._frontier = frontier
        self._patience = patience
        self._callers: defaultdict[str, Caller] = defaultdict(lambda: Caller(caller))
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def lease(self, n: int) -> list[Lease]:
        return await self._numbered(self._frontier.lease, n)

    async def landed(self, landings: Sequence[Landing]) -> None:
        await self._numbered(self._frontier.landed, landings)

    async def release(self, tokens: Sequence[int], wait_s: float) -> None:
        await self._numbered(self._frontier.release, tokens, wait_s)

    async def extend(self, tokens: Sequence[int]) -> None:
        await self._numbered(self._frontier.extend, tokens)

    async def offer(self, offers: Sequence[Offer]) -> Offered:
        return await self._numbered(self._frontier.offer, offers)

    async def complete(self, completions: Sequence[Completion]) -> None:
        await self._numbered(self._frontier.complete, completions)

    async def _numbered(self, verb: Callable[..., Awaitable[T]], *args: Any) -> T:
        name = getattr(verb, "__name__", "")

        async def call() -> T:
            # Numbered at each try anew: one that found the disk full has changed nothing.
            return await verb(self._callers[name].next(), *args)

        async with self._turns[name]:
            return await self._patience.insist(call)
