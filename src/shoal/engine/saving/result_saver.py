"""Saves results in batches, in this order: archive and store, then offer the links, then complete the leases.

A kill between two steps leaves leases that return and are processed again; every step is safe to repeat. Batches grow
with the load: results that arrive while one batch is being stored form the next. While many requests are in flight,
batches wait to grow, because each takes the interpreter lock from the event loop about ten times, whatever its size.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from shoal.engine.active_job import ActiveJob
from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.log_offers import OfferLog
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.request_result import OFFERED_AT_ONCE, RequestResult
from shoal.engine.saving.result_queue import ResultQueue
from shoal.model import DeadLetter, Drop, Offer, PageRecord, RedirectRecord
from shoal.store.archive.archive_and_save import archive_and_save
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.job_cookies import forget_cookies, save_cookies
from shoal.store.crawl.save_batch import Batch
from shoal.store.job_changes import add_spider_version, admit
from shoal.urls.resolve_links import note_offered

MAX_BATCH = 128
MIN_BATCH = 64
BATCH_WAIT_S = 0.03
"""How long a batch smaller than MIN_BATCH waits for more results."""
OnResult = Callable[[RequestResult], None]


class ResultSaver:
    def __init__(
        self,
        results: ResultQueue,
        held: HeldLeases,
        frontier_client: FrontierClient,
        overflow: Overflow,
        offer_log: OfferLog,
        async_store: AsyncStore,
        active_jobs: ActiveJobs,
        outages: OutageRetry,
    ) -> None:
        self._results = results
        self._held_leases = held
        self._frontier_client = frontier_client
        self._overflow = overflow
        self._offer_log = offer_log
        self._async_store = async_store
        self._active_jobs = active_jobs
        self._keep_trying = outages.keep_trying

    async def run(self, on_saved: OnResult) -> None:
        """Runs until it is cancelled. The queue should be empty then."""
        while True:
            await self._results.wait()
            if self._results.waiting < MIN_BATCH and self._held_leases.is_busy:
                await asyncio.sleep(BATCH_WAIT_S)
            results = self._results.take(MAX_BATCH)
            await self._save_all(results)
            self._results.saved()
            self._held_leases.remove([result.lease.token for result in results])
            for result in results:
                on_saved(result)

    async def _save_all(self, results: list[RequestResult]) -> None:
        for batch in batches(results):
            active_job = self._active_jobs[batch.job]
            found = (offer for result in results if result.lease.job == batch.job for offer in result.offers)
            batch.offers = self._offer_log.texts(active_job, found)
            batch.has_sinks = bool(active_job.spec.sinks)
            batch.has_files = active_job.callbacks is not None and (
                active_job.callbacks.has_files or any(result.lease.trail.is_asset for result in results)
            )
            batch.refreshes = active_job.spec.refresh
            batch.add_skipped(active_job.skipped)
            active_job.skipped.clear()
            batch.tallies.update(active_job.learnt.take_changes())
            await self._save_types(active_job)
            await self._keep_trying(self._save, batch)
            await self._save_changes(active_job)
        offers = list(offered_together(results))
        at_once = self._frontier_client.settles and len(offers) <= 1
        if not at_once:
            for together in offers:
                await self._overflow.offer(together)
            offers = []
        await self._complete(results, offers[0] if offers else [], at_once)
        for result in results:
            note_offered(result.links)

    async def _complete(self, results: list[RequestResult], offers: list[Offer], at_once: bool) -> None:
        for result in results:
            if exits := self._active_jobs[result.lease.job].exits:
                # The store has counted it before.
                result.completion.cost += exits.take_uncounted()
        completions = [result.completion for result in results]
        if at_once:
            counted = await self._frontier_client.settle(offers, self._held_leases.take_landings(), completions)
        else:
            # A landing that is reported after its lease completed would teach the host's clock nothing.
            await self._held_leases.send_host_feedback()
            counted = await self._frontier_client.complete(completions)
        for result, is_counted in zip(results, counted, strict=True):
            if result.completion.cost and (exits := self._active_jobs[result.lease.job].exits):
                exits.saved(result.completion.cost, is_counted)

    async def _save(self, batch: Batch) -> None:
        recorder = self._active_jobs[batch.job].recorder
        if recorder is None:
            await self._async_store.save(batch)
        else:
            await self._async_store.run(archive_and_save, batch, recorder)

    async def _save_types(self, active_job: ActiveJob) -> None:
        """Before the items: an export of a running job knows the columns of every item it meets."""
        if active_job.new_types:
            # Imported here only: a job without items does not need it.
            from shoal.store.results.items import save_item_types

            types, active_job.new_types = active_job.new_types, []
            await self._keep_trying(self._async_store.run, save_item_types, active_job.id, types)
        if active_job.new_spider_version is not None:
            version, active_job.new_spider_version = active_job.new_spider_version, None
            await self._keep_trying(self._async_store.run, add_spider_version, active_job.id, version)

    async def _save_changes(self, active_job: ActiveJob) -> None:
        touched = bool(active_job.newly_admitted) or active_job.jars.is_changed
        if active_job.newly_admitted:
            admitted, active_job.newly_admitted = active_job.newly_admitted, []
            await self._keep_trying(self._async_store.run, admit, active_job.id, admitted)
        await self._save_cookies(active_job)
        if active_job.learnt.take_news():
            touched = True
        if touched and active_job.keeps_offers:
            # Before the links are offered that may need these changes.
            await self._frontier_client.touch(active_job.id)

    async def _save_cookies(self, active_job: ActiveJob) -> None:
        """Those of all sessions together: many log in at once."""
        jars = {session: active_job.jars[session] for session in active_job.jars.due()}
        # In this order: the check for changes finds what there is no room for.
        changed = {session: lines for session, jar in jars.items() if (lines := jar.changed_lines())}
        forgotten = {session: keys for session, jar in jars.items() if (keys := jar.forgotten())}
        if forgotten:
            await self._keep_trying(self._async_store.run, forget_cookies, active_job.id, forgotten)
        if changed:
            await self._keep_trying(self._async_store.run, save_cookies, active_job.id, changed)


def offered_together(results: list[RequestResult]) -> Iterator[list[Offer]]:
    """All offers, in as few calls as possible."""
    together: list[Offer] = []
    targets = 0
    for offer in (offer for result in results for offer in result.offers):
        if together and targets + len(offer.targets) > OFFERED_AT_ONCE:
            yield together
            together, targets = [], 0
        together.append(offer)
        targets += len(offer.targets)
    if together:
        yield together


def batches(results: list[RequestResult]) -> list[Batch]:
    """What to store for the results, job by job."""
    by_job: dict[str, Batch] = {}
    for result in results:
        lease = result.lease
        batch = by_job.setdefault(lease.job, Batch(lease.job))
        match result.record:
            case PageRecord():
                batch.pages.append(result.record)
            case RedirectRecord():
                batch.redirects.append(result.record)
            case DeadLetter():
                batch.dead.append(result.record)
            case Drop():
                batch.drops.append(result.record)
        if result.record is not None and result.capture is not None:
            batch.captures.append((result.record, result.capture))
        if cost := result.completion.cost:
            batch.add_cost(cost)
        if result.skips:
            batch.skips[lease.target.fingerprint] = result.skips
        if result.matches:
            batch.matches[lease.target.fingerprint] = result.matches
        if result.dropped_items:
            batch.dropped_items[lease.target.fingerprint] = result.dropped_items
        for reason, urls in result.trapped.items():
            batch.samples.setdefault(reason, []).extend(urls)
        if result.failed:
            kind, status = result.failed
            sample = f"{lease.target.url}: {result.why}" if result.why else lease.target.url
            batch.add_failure(kind, status, lease.target.host, sample, time.time())
    return list(by_job.values())
