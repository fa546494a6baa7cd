"""Reports of Scrapy processes that ended. They are kept until Redis has them."""

from __future__ import annotations

import time

from shoal.fleet.scrapy_jobs import ScrapySlots

Place = tuple[str, int]
"""A job, and the number of one of its processes."""


class EndsToTell:
    def __init__(self) -> None:
        self._closed: set[Place] = set()
        self._given_up: dict[Place, str] = {}
        self._to_free: dict[Place, float] = {}

    def closed(self, place: Place) -> None:
        """No worker starts it again."""
        self._closed.add(place)

    def given_up(self, place: Place, reason: str) -> None:
        """Another worker may try; the job fails if it has no process elsewhere."""
        self._given_up[place] = reason

    def finished(self, place: Place, free_after_s: float) -> None:
        """It may be started again after this time."""
        self._to_free[place] = time.monotonic() + free_after_s

    async def tell(self, slots: ScrapySlots) -> None:
        """Safe to repeat after Unavailable."""
        for place in list(self._closed):
            await slots.close(*place)
            self._closed.discard(place)
        for place, reason in list(self._given_up.items()):
            await slots.free(*place)
            await slots.fail_if_alone(place[0], reason)
            del self._given_up[place]
        for place, due_at in list(self._to_free.items()):
            if time.monotonic() >= due_at:
                await slots.free(*place)
                del self._to_free[place]

    async def renew(self, slots: ScrapySlots) -> None:
        for place in self._to_free:
            await slots.renew(*place)

    async def free_all(self, slots: ScrapySlots) -> None:
        """Without waiting, because the worker stops."""
        self._to_free = dict.fromkeys(self._to_free, 0.0)
        await self.tell(slots)
