"""Loads a job into the frontier: its inputs the first time, and everything in the store if the frontier was lost.

Both can be repeated after an interruption: the frontier skips requests that it has seen.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from shoal.engine.job_start import SEEDS_AT_ONCE, seed_offers, terms_of_job
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.timed_event import TimedEvent
from shoal.errors import FrontierLost, UnknownJob
from shoal.fleet.patch_job import send_terms
from shoal.frontier.contract import Ended
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.serialize import offer_of
from shoal.model import ENDED, JobState, Outcome
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.ended_requests import count_ended, ended_requests
from shoal.store.crawl.inputs import seed_targets
from shoal.store.crawl.offer_log import logged_offers
from shoal.store.job_changes import mark_seeded
from shoal.store.job_state import start_queued_job
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store

ENDED_AT_ONCE = 2_000
LOGGED_AT_ONCE = 100
SETTLE_S = 5.0
"""How long workers may take to complete the requests that they had saved when Redis went away."""
LOOK_EVERY_S = 0.25
OUTCOMES = {"page": Outcome.DONE, "redirect": Outcome.REDIRECT, "dead": Outcome.DEAD, "drop": Outcome.DROP}


async def rebuild(frontier: RedisFrontier, store: Store, job: Job) -> None:
    """For `shoal rebuild`; a tend may do the same at the same time. Raises Unavailable."""
    stopping = TimedEvent()
    outages = OutageRetry(stopping, ())
    frontier_client = FrontierClient(frontier, f"rebuild-{uuid.uuid4().hex}", outages)
    async_store = AsyncStore(store)
    try:
        await FrontierRestorer(
            frontier, frontier_client, Overflow(frontier_client, async_store, outages), async_store
        ).rebuild(job)
    finally:
        async_store.close()


class FrontierRestorer:
    def __init__(
        self, frontier: RedisFrontier, frontier_client: FrontierClient, overflow: Overflow, async_store: AsyncStore
    ) -> None:
        self._frontier = frontier
        self._frontier_client = frontier_client
        self._overflow = overflow
        self._async_store = async_store
        self.moved_at = 0.0
        """When the last part was loaded, by the monotonic clock."""

    async def seed(self, job: Job, on_offer: Callable[[], None]) -> None:
        """Offers the job's inputs; calls `on_offer` as soon as a request can be leased. Raises FrontierLost."""
        if job.offered_line:
            # Workers must know these URLs as inputs before they lease them.
            await self._frontier.touch(job.id)
            line = await self._offer_seeds(job, job.offered_line, on_offer)
        else:
            await self._frontier.open_job(job.id, await self._async_store.read(terms_of_job, job))
            state = await self._async_store.run(start_queued_job, job.id, time.time())
            if state is not JobState.RUNNING:
                # The operator paused or cancelled it meanwhile; a paused job is seeded when it is resumed.
                await self._frontier.erase(job.id)
                return
            line = await self._offer_seeds(job, 0, on_offer)
            # The job's time limit starts only now: offering a list of a million takes a while.
            # Sends the current terms: the job may have been changed meanwhile.
            await send_terms(self._frontier, self._async_store.store, job.id)
        await self._async_store.run(mark_seeded, job.id, line)

    async def rebuild(self, job: Job) -> None:
        """Raises FrontierLost if the frontier is lost again meanwhile."""
        # First the ended requests, so that offering them again has no effect.
        terms = await self._async_store.read(terms_of_job, job)
        await self._frontier.open_job(job.id, terms, lost=True)
        await self._recall_ended(job)
        if not await self._frontier.knows(job.id):
            await self._frontier.open_job(job.id, terms)
            await self._repeat_pause_or_cancel(job.id)
        line = await self._offer_seeds(job, 0, lambda: None)
        await self._offer_logged(job)
        await self._repeat_pause_or_cancel(job.id)
        await self._async_store.run(mark_seeded, job.id, line)

    async def erase_behind(self, jobs: list[Job]) -> list[Job]:
        """Erases and returns the jobs for which Redis is older than the store: it would lease ended requests again.

        `rebuild` then makes their queues again, because queues cannot be searched for ended requests, and counts,
        permits and leases would be wrong too. Call it while nothing can be leased.
        """
        behind = [job for job in jobs if await self._is_behind(job)]
        deadline = time.monotonic() + SETTLE_S
        while behind and time.monotonic() < deadline:
            self.moved_at = time.monotonic()
            await asyncio.sleep(LOOK_EVERY_S)
            behind = [job for job in behind if await self._is_behind(job)]
        for job in behind:
            with suppress(FrontierLost):
                await self._frontier.erase(job.id)
        return behind

    async def erase_ended(self) -> None:
        """Erases jobs that ended after this state of Redis was saved: workers would continue them."""
        for id in await self._frontier.jobs():
            try:
                job = await self._async_store.read(load_job, id)
                if job.state in ENDED and await self._frontier.idle_reason(id) is None:
                    await self._frontier.erase(id)
            except (UnknownJob, FrontierLost):
                # A job of another fleet, or a removed one; workers that lease from it log an error.
                continue

    async def _is_behind(self, job: Job) -> bool:
        """Compares counts: every ended request is a row in the store, and the frontier counts it a moment later."""
        stored = await self._async_store.read(count_ended, job.id)
        try:
            known = await self._frontier.figures(job.id)
        except FrontierLost:
            # Nothing can be leased from it, and it is rebuilt anyway.
            return False
        counted = {"page": known.pages, "asset": known.assets, "redirect": known.redirects, "dead": known.dead}
        counted["drop"] = sum(known.dropped.values())
        return any(stored[kind] > n for kind, n in counted.items())

    async def _repeat_pause_or_cancel(self, id: str) -> None:
        """The frontier missed a pause or cancel while it did not know the job."""
        state = (await self._async_store.run(load_job, id)).state
        if state is JobState.PAUSED:
            await self._frontier.pause(id)
        elif state is JobState.CANCELLED:
            await self._frontier.cancel(id)

    async def _offer_seeds(self, job: Job, line: int, on_offer: Callable[[], None]) -> int | None:
        """Offers the inputs after this line; returns the last line, or None if the job takes no more inputs."""
        begun = False
        while part := await self._async_store.read(seed_targets, job.id, line, SEEDS_AT_ONCE):
            line = part[-1].line
            await self._overflow.offer_or_raise(seed_offers(job, part))
            self.moved_at = time.monotonic()
            if not begun:
                on_offer()
            begun = True
            if await self._frontier.end_reason(job.id):
                return None
        return line

    async def _recall_ended(self, job: Job) -> None:
        after = None
        while part := await self._async_store.read(ended_requests, job.id, after, ENDED_AT_ONCE):
            after = part[-1]
            ended = [
                Ended(key, host, OUTCOMES[kind], size, why, bool(is_asset))
                for key, host, kind, size, why, is_asset in part
            ]
            await self._frontier_client.recall(job.id, ended)
            self.moved_at = time.monotonic()

    async def _offer_logged(self, job: Job) -> None:
        after = 0
        while rows := await self._async_store.read(logged_offers, job.id, after, LOGGED_AT_ONCE):
            after = rows[-1][0]
            for _, texts in rows:
                await self._overflow.offer_or_raise([offer_of(job.id, text) for text in texts])
                self.moved_at = time.monotonic()
                await asyncio.sleep(0)
