"""Offers that the store keeps until a fleet's job ends, so that a lost frontier can be rebuilt from it.

What this process has kept before is not kept again: the links every page of a site has cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.engine.patience import Patience
from shoal.engine.work import Work
from shoal.frontier.recent import Recent
from shoal.frontier.record import offer_text
from shoal.model import Offer
from shoal.store.offers import add_offers
from shoal.store.writer import Writer


class KeptOffers:
    def __init__(self, writer: Writer, patience: Patience) -> None:
        self._writer = writer
        self._insist = patience.insist
        self._recent = Recent()

    def texts(self, work: Work, offers: Iterable[Offer]) -> list[str]:
        """Of what is new here; to be stored together with the pages that it was found on."""
        return [offer_text(new) for offer in offers if (new := self._new(offer)).targets] if work.keeps_offers else []

    async def keep(self, work: Work, offer: Offer) -> None:
        """One that no page is stored with."""
        if texts := self.texts(work, [offer]):
            await self._insist(self._writer.run, add_offers, work.job, texts)

    def _new(self, offer: Offer) -> Offer:
        young, old = self._recent.of(offer.job)
        new = [each for each in offer.targets if each.fingerprint not in young and each.fingerprint not in old]
        self._recent.remember(offer.job, [target.fingerprint for target in new])
        return offer._replace(targets=new)
