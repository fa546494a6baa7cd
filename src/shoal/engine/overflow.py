"""The way of every offer to the frontier, and of links that it has no room for: they wait in the store, and are
offered again until it has.

What waits is not seen: a link found once more meanwhile waits twice, and is taken once.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engine.calls import Calls
from shoal.engine.patience import Patience
from shoal.errors import FrontierLost
from shoal.frontier.contract import Offered
from shoal.frontier.record import offer_of, offer_text
from shoal.model import ENDED, Offer
from shoal.store.jobs import load_job
from shoal.store.waiting import add_waiting, remove_waiting, waiting
from shoal.store.writer import Writer

AT_ONCE = 50
TARGETS = 100
"""In each offer that waits: a frontier takes it whole or not at all."""


class Overflow:
    def __init__(self, calls: Calls, writer: Writer, patience: Patience) -> None:
        self._calls = calls
        self._writer = writer
        self._patience = patience
        self._insist = patience.insist

    async def offer(self, offers: Sequence[Offer]) -> None:
        """All of it is queued, known, or kept, when this returns."""
        await self._keep((await self._offer(offers)).left)

    async def offer_known(self, offers: Sequence[Offer]) -> None:
        """The same for whoever would be waited for: raises FrontierLost."""
        await self._keep((await self._calls.offer(offers)).left)

    async def bring_back(self, job: str) -> bool:
        """Offers again what of a job waits; False if nothing does."""
        rows = await self._insist(self._writer.read, waiting, job, AT_ONCE)
        for row in rows:
            left = (await self._offer([offer_of(job, row.offer)])).left
            await self._insist(self._writer.run, remove_waiting, job, row.id, [offer_text(offer) for offer in left])
            if left:
                break
        return bool(rows)

    async def _keep(self, left: Sequence[Offer]) -> None:
        if left:
            parts = [(offer.job, offer_text(part)) for offer in left for part in _parts(offer)]
            await self._insist(self._writer.run, add_waiting, parts)

    async def _offer(self, offers: Sequence[Offer]) -> Offered:
        try:
            return await self._calls.offer(offers)
        except FrontierLost:
            pass
        # One of the jobs is lost, and the others must not wait for it.
        offered = [await self._offer_until_known(offer) for offer in offers]
        return Offered(sum(each.new for each in offered), [offer for each in offered for offer in each.left])

    async def _offer_until_known(self, offer: Offer) -> Offered:
        while True:
            try:
                return await self._calls.offer([offer])
            except FrontierLost as lost:
                job = await self._insist(self._writer.read, load_job, offer.job)
                # What an ended job's page leads to is of no use; any other job is being rebuilt.
                if job.state in ENDED:
                    return Offered(0)
                if self._patience.is_over:
                    raise
                await self._patience.wait_for(str(lost))


def _parts(offer: Offer) -> list[Offer]:
    starts = range(0, len(offer.targets), TARGETS)
    return [offer._replace(targets=offer.targets[start : start + TARGETS]) for start in starts]
