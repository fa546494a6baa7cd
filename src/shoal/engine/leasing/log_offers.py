"""Stores the offers of a fleet's job until the job ends, so that a lost frontier can be rebuilt from them.

It skips links that this process stored recently, so links that every page of a site has cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.engine.active_job import ActiveJob
from shoal.engine.outage_retry import OutageRetry
from shoal.frontier.recent_offers import RecentOffers
from shoal.frontier.serialize import offer_text
from shoal.model import Offer
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.offer_log import add_offers


class OfferLog:
    def __init__(self, async_store: AsyncStore, outages: OutageRetry) -> None:
        self._async_store = async_store
        self._keep_trying = outages.keep_trying
        self._recent = RecentOffers()

    def texts(self, active_job: ActiveJob, offers: Iterable[Offer]) -> list[str]:
        """New links as text, to be stored together with the pages on which they were found."""
        return (
            [offer_text(new) for offer in offers if (new := self._new(offer)).targets]
            if active_job.keeps_offers
            else []
        )

    async def keep(self, active_job: ActiveJob, offer: Offer) -> None:
        """Stores an offer that does not come from a stored page."""
        if texts := self.texts(active_job, [offer]):
            await self._keep_trying(self._async_store.run, add_offers, active_job.id, texts)

    def _new(self, offer: Offer) -> Offer:
        young, old = self._recent.of(offer.job)
        new = [each for each in offer.targets if each.fingerprint not in young and each.fingerprint not in old]
        self._recent.remember(offer.job, [target.fingerprint for target in new])
        return offer._replace(targets=new)
