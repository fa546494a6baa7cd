"""Ends leases: saves what Scrapy made of them, and then completes them. A kill in between repeats the request.

Leases that end within 50 ms are saved together. A page that is saved alone costs as much processor time as its
download, and a chain of requests, where each callback yields the next one, would wait for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from shoal.errors import Unavailable
from shoal.frontier.contract import Caller
from shoal.frontier.serialize import offer_text
from shoal.model import DeadLetter, Drop, Offer, PageRecord, RedirectRecord
from shoal.scrapy.crawl_job import CrawlJob
from shoal.scrapy.held_request import HeldRequest
from shoal.scrapy.outage_log import OutageLog
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.save_batch import Batch, Record
from shoal.store.jobs import load_job

BEHIND = 2_000
"""With so many unsaved requests nothing more is leased."""
BATCH = 500
GATHER_S = 0.05
AWAY_S = 1.0


class Settler:
    def __init__(
        self,
        crawl: CrawlJob,
        caller: Caller,
        outages: OutageLog,
        flush_feeds: Callable[[], None],
        done: Callable[[], None],
        gather_s: float = GATHER_S,
    ) -> None:
        """Calls `done` whenever leases have ended. `gather_s`: how long an ended lease waits for others."""
        self._crawl = crawl
        self._caller = caller
        self._outages = outages
        self._flush_feeds = flush_feeds
        self._done = done
        self._gather_s = gather_s
        self._async_store = AsyncStore(crawl.store)
        job = load_job(crawl.store, crawl.id)
        self._has_sinks = bool(job.spec.sinks)
        self._logs_offers = job.fleet
        self._ended: list[HeldRequest] = []
        self._offers: list[str] = []
        self._is_due = asyncio.Event()
        """Nothing is gained by waiting for more leases to end."""
        self._task: asyncio.Task[None] | None = None

    @property
    def tokens(self) -> list[int]:
        return [held.lease.token for held in self._ended]

    @property
    def is_behind(self) -> bool:
        return len(self._ended) > BEHIND

    def log_offers(self, offers: Sequence[Offer]) -> None:
        """The store keeps them with the next records, so that a lost frontier can be rebuilt."""
        if self._logs_offers:
            self._offers += [offer_text(offer) for offer in offers]

    def add(self, ended: Sequence[HeldRequest], *, at_once: bool) -> None:
        """Raises what an earlier settling raised. `at_once`: no other lease will end soon."""
        if self._task is not None and self._task.done():
            self._task.result()
        self._ended += ended
        # The next try of a request can only be leased when this one is completed.
        if at_once or len(self._ended) >= BATCH or any(held.retry is not None for held in ended):
            self._is_due.set()
        if self._ended and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._settle_all())

    async def join(self) -> None:
        if self._task is not None:
            self._is_due.set()
            await self._task

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._async_store.close()

    async def _settle_all(self) -> None:
        while self._ended:
            await self._gather()
            part = self._ended[:BATCH]
            try:
                await self._settle(part)
            except Unavailable as error:
                self._outages.waits("settle", error)
                await asyncio.sleep(AWAY_S)
                continue
            self._outages.over("settle")
            del self._ended[: len(part)]
        self._done()

    async def _gather(self) -> None:
        if len(self._ended) < BATCH:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._gather_s):
                    await self._is_due.wait()
        self._is_due.clear()

    async def _settle(self, ended: list[HeldRequest]) -> None:
        offers = list(self._offers)
        batch = batch_of(self._crawl.id, [held.record() for held in ended], offers, self._has_sinks)
        await self._async_store.save(batch)
        del self._offers[: len(offers)]
        # Feeds are buffered files: an item must not be lost with the process after its request is completed.
        self._flush_feeds()
        await self._crawl.frontier.complete(self._caller.next(), [held.completion() for held in ended])


def batch_of(job: str, records: Sequence[Record | None], offers: list[str], has_sinks: bool) -> Batch:
    batch = Batch(job, offers=offers, has_sinks=has_sinks)
    for record in records:
        match record:
            case PageRecord():
                batch.pages.append(record)
            case RedirectRecord():
                batch.redirects.append(record)
            case DeadLetter():
                batch.dead.append(record)
                batch.add_failure(record.reason, record.status, record.host, record.url, record.died_at)
            case Drop():
                batch.drops.append(record)
    return batch
