"""Sends all offers to the frontier. Links that the frontier has no room for wait in the store, and are offered again.

Waiting links do not count as seen: a link that is found again meanwhile waits twice, and is taken once.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.outage_retry import OutageRetry
from shoal.errors import FrontierLost
from shoal.frontier.contract import Offered
from shoal.frontier.serialize import offer_of, offer_text
from shoal.model import ENDED, Offer
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.overflow import add_overflow, overflow_offers, remove_overflow
from shoal.store.jobs import load_job

AT_ONCE = 50
TARGETS = 100
"""Targets in each waiting offer: a frontier takes an offer completely or not at all."""


class Overflow:
    def __init__(self, frontier_client: FrontierClient, async_store: AsyncStore, outages: OutageRetry) -> None:
        self._frontier_client = frontier_client
        self._async_store = async_store
        self._outages = outages
        self._keep_trying = outages.keep_trying
        self._without: set[str] = set()
        """Jobs that had no waiting link when this process last looked, and got none from it since."""

    async def offer(self, offers: Sequence[Offer]) -> bool:
        """When this returns, every link is queued, already known, or stored. Returns whether one may be new."""
        offered = await self._offer(offers)
        await self._store(offered.left)
        return offered.new > 0 or bool(offered.left)

    async def offer_or_raise(self, offers: Sequence[Offer]) -> None:
        """Like `offer`, but raises FrontierLost. For callers that restore the job: waiting for it would never end."""
        await self._store((await self._frontier_client.offer(offers)).left)

    def may_have(self, job: str) -> bool:
        """Whether links of the job may wait, if no other process works on it."""
        return job not in self._without

    async def offer_again(self, job: str) -> bool:
        """Offers a job's waiting links again. False if there are none."""
        self._without.add(job)
        rows = await self._keep_trying(self._async_store.read, overflow_offers, job, AT_ONCE)
        for row in rows:
            left = (await self._offer([offer_of(job, row.offer)])).left
            await self._keep_trying(
                self._async_store.run, remove_overflow, job, row.id, [offer_text(offer) for offer in left]
            )
            if left:
                break
        if rows:
            self._without.discard(job)
        return bool(rows)

    async def _store(self, left: Sequence[Offer]) -> None:
        if left:
            parts = [(offer.job, offer_text(part)) for offer in left for part in _parts(offer)]
            await self._keep_trying(self._async_store.run, add_overflow, parts)
            # Only now: somebody who looked before found nothing.
            self._without.difference_update(offer.job for offer in left)

    async def _offer(self, offers: Sequence[Offer]) -> Offered:
        try:
            return await self._frontier_client.offer(offers)
        except FrontierLost:
            pass
        # One of the jobs is lost. The others must not wait for it.
        offered = [await self._offer_until_known(offer) for offer in offers]
        return Offered(sum(each.new for each in offered), [offer for each in offered for offer in each.left])

    async def _offer_until_known(self, offer: Offer) -> Offered:
        while True:
            try:
                return await self._frontier_client.offer([offer])
            except FrontierLost as lost:
                job = await self._keep_trying(self._async_store.read, load_job, offer.job)
                # Links of an ended job are not needed. Any other job is being rebuilt.
                if job.state in ENDED:
                    return Offered(0)
                if self._outages.is_stopping:
                    raise
                await self._outages.wait_for(str(lost))


def _parts(offer: Offer) -> list[Offer]:
    starts = range(0, len(offer.targets), TARGETS)
    return [offer._replace(targets=offer.targets[start : start + TARGETS]) for start in starts]
