"""Offers what sitemaps and feeds list, part by part, and the sitemaps of a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from shoal.engine.active_job import ActiveJob
from shoal.engine.leasing.log_offers import OfferLog
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.readers.pool import ReaderPool
from shoal.engine.readers.scheduler import ReadAbandoned
from shoal.engine.reading.page_worth import learn_from_page
from shoal.engine.reading.parse_page import SitemapPart, is_big_sitemap, read_sitemap
from shoal.engine.reading.sitemap_requests import listed_requests, sitemaps_of_host
from shoal.engine.request_result import Listing, RequestResult
from shoal.engine.shape_statistics import Worth
from shoal.errors import FrontierLost
from shoal.fetch.exchange import Exchange
from shoal.frontier.contract import Frontier
from shoal.model import Lease, Offer
from shoal.urls import origin_of


class SitemapOffers:
    def __init__(
        self, frontier: Frontier, overflow: Overflow, offer_log: OfferLog, readers: ReaderPool, outages: OutageRetry
    ) -> None:
        self._frontier = frontier
        self._overflow = overflow
        self._offer_log = offer_log
        self._readers = readers
        self._outages = outages

    async def offer_sitemaps_of_host(self, lease: Lease, active_job: ActiveJob, listed: list[str]) -> None:
        """`listed` are those that its robots.txt names."""
        origin = origin_of(lease.target.url)
        if active_job.scope.refusal(lease.target.url) or not active_job.claim_sitemaps(origin):
            return
        await self._offer(active_job, sitemaps_of_host(active_job, listed or [f"{origin}/sitemap.xml"]))

    async def offer_entries(self, active_job: ActiveJob, answer: Exchange, result: RequestResult) -> bool:
        """Offers the entries of a sitemap or feed part by part, before its own lease completes, so that a million
        entries need little memory. Raises ReadFailed.

        False if the engine stopped or the job's time ran out before all parts were offered: the sitemap is read again.
        """
        listed = listed_requests(active_job, result, answer)
        has_news = False
        try:
            async with aclosing(self._parts(active_job.id, answer.body)) as parts:
                async for part in parts:
                    for offer in listed.offers(part):
                        has_news |= await self._offer(active_job, offer)
                        result.listed += len(offer.targets)
                    await asyncio.sleep(0)
                    if self._outages.is_stopping or await self._has_ended(active_job):
                        return False
        except ReadAbandoned:
            return False
        if result.listing is Listing.FEED:
            learn_from_page(active_job, result.lease, Worth.USEFUL if has_news else Worth.USELESS)
        return True

    async def _offer(self, active_job: ActiveJob, offer: Offer) -> bool:
        """Returns whether a link may be new."""
        await self._offer_log.keep(active_job, offer)
        return await self._overflow.offer([offer])

    async def _has_ended(self, active_job: ActiveJob) -> bool:
        try:
            return await self._outages.keep_trying(self._frontier.end_reason, active_job.id) is not None
        except FrontierLost:
            # The lease is lost too: the sitemap is read again when the job is back.
            return True

    async def _parts(self, job: str, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        if is_big_sitemap(body):
            async with aclosing(self._readers.sitemap(job, body)) as parts:
                async for part in parts:
                    yield part
        else:
            for part in read_sitemap(body):
                yield part
