"""Links that the frontier has no room for: they wait in the store, and are offered again until it has.

What waits is not seen: a link found once more meanwhile waits twice, and is taken once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.engine.calls import Calls
from shoal.engine.patience import Patience
from shoal.frontier.record import offer_of, offer_text
from shoal.model import Offer
from shoal.store.waiting import add_waiting, remove_waiting, waiting
from shoal.store.writer import Writer

AT_ONCE = 50
TARGETS = 100
"""In each offer that waits: a frontier takes it whole or not at all."""


class Overflow:
    def __init__(self, calls: Calls, writer: Writer, patience: Patience) -> None:
        self._calls = calls
        self._writer = writer
        self._insist = patience.insist
        self._nothing: set[str] = set()
        """Jobs of which nothing waits, as far as this process knows."""

    async def offer(self, offers: Sequence[Offer]) -> None:
        """All of it is queued, known, or kept, when this returns."""
        left = (await self._calls.offer(offers)).left
        if left:
            parts = [(offer.job, offer_text(part)) for offer in left for part in _parts(offer)]
            await self._insist(self._writer.run, add_waiting, parts)
            self._nothing -= {offer.job for offer in left}

    async def bring_back(self, job: str) -> bool:
        """Offers again what of a job waits; False if nothing does."""
        if job in self._nothing:
            return False
        rows = await self._writer.run(waiting, job, AT_ONCE)
        for row in rows:
            left = (await self._calls.offer([offer_of(job, row.offer)])).left
            await self._insist(self._writer.run, remove_waiting, job, row.id, [offer_text(offer) for offer in left])
            if left:
                break
        if not rows:
            self._nothing.add(job)
        return bool(rows)


def _parts(offer: Offer) -> list[Offer]:
    starts = range(0, len(offer.targets), TARGETS)
    return [replace(offer, targets=offer.targets[start : start + TARGETS]) for start in starts]
