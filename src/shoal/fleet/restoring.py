"""How a job comes into the frontier: its inputs the first time, and everything that the store knows of it if the
frontier was lost.

Each can be repeated after whatever ended it: what the frontier has seen it passes over.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from shoal.engine.beginning import SEEDS_AT_ONCE, terms_of
from shoal.engine.calls import Calls
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.errors import FrontierLost, UnknownJob
from shoal.fleet.changes import tell_terms
from shoal.frontier.contract import Ended
from shoal.frontier.record import offer_of
from shoal.frontier.redis import RedisFrontier
from shoal.model import ENDED, JobState, Offer, Outcome
from shoal.store.ended import count_ended, ended_requests
from shoal.store.inputs import seed_targets
from shoal.store.jobs import Job, begin, load_job, mark_seeded
from shoal.store.offers import kept_offers
from shoal.store.store import Store
from shoal.store.writer import Writer

ENDED_AT_ONCE = 2_000
KEPT_AT_ONCE = 100
SETTLE_S = 5.0
"""How long workers may take to complete what they had saved when Redis went away."""
LOOK_EVERY_S = 0.25
OUTCOMES = {"page": Outcome.DONE, "redirect": Outcome.REDIRECT, "dead": Outcome.DEAD, "drop": Outcome.DROP}


async def rebuild(frontier: RedisFrontier, store: Store, job: Job) -> None:
    """By hand, beside a tend that may do the same. Raises Unavailable."""
    stopping = asyncio.Event()
    patience = Patience(stopping, ())
    calls = Calls(frontier, f"rebuild-{uuid.uuid4().hex}", patience)
    writer = Writer(store)
    try:
        await Restoring(frontier, calls, Overflow(calls, writer, patience), writer).rebuild(job)
    finally:
        writer.close()


class Restoring:
    def __init__(self, frontier: RedisFrontier, calls: Calls, overflow: Overflow, writer: Writer) -> None:
        self._frontier = frontier
        self._calls = calls
        self._overflow = overflow
        self._writer = writer
        self.moved_at = 0.0
        """By the monotonic clock: when the last part was brought in."""

    async def seed(self, job: Job, on_offer: Callable[[], None]) -> None:
        """`on_offer` is called as soon as there is something to lease. Raises FrontierLost."""
        if job.offered_line:
            # Workers must know them for inputs before they lease them.
            await self._frontier.touch(job.id)
            line = await self._offer_seeds(job, job.offered_line, on_offer)
        else:
            await self._frontier.open_job(job.id, terms_of(job.spec, job.seconds, job.owner))
            state = await self._writer.run(begin, job.id, time.time())
            if state is not JobState.RUNNING:
                # An operator was quicker; what is paused is begun when it goes on.
                await self._frontier.erase(job.id)
                return
            line = await self._offer_seeds(job, 0, on_offer)
            # Only now does the job's time begin: a list of a million takes a while to be offered.
            # With what it has by now: it may have been changed meanwhile.
            await tell_terms(self._frontier, self._writer.store, job.id)
        await self._writer.run(mark_seeded, job.id, line)

    async def rebuild(self, job: Job) -> None:
        """Raises FrontierLost if it is lost once more meanwhile."""
        # First what has ended, so that offering it again leads to nothing.
        terms = terms_of(job.spec, job.seconds, job.owner)
        await self._frontier.open_job(job.id, terms, lost=True)
        await self._recall_ended(job)
        if not await self._frontier.knows(job.id):
            await self._frontier.open_job(job.id, terms)
            await self._heed_operator(job.id)
        line = await self._offer_seeds(job, 0, lambda: None)
        await self._offer_kept(job)
        await self._heed_operator(job.id)
        await self._writer.run(mark_seeded, job.id, line)

    async def erase_behind(self, jobs: list[Job]) -> list[Job]:
        """Erases the jobs that Redis is behind the store with: requests have ended that it would give out again. Their
        queues are made anew by `rebuild`, because no queue can be searched for what has ended, and counts, permits
        and leases would be wrong too. To be called while nothing is leased; gives the jobs.
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
        """Jobs that ended since Redis knew what it knows: workers would go on with them."""
        for id in await self._frontier.jobs():
            try:
                job = await self._writer.read(load_job, id)
                if job.state in ENDED and await self._frontier.rest(id) is None:
                    await self._frontier.erase(id)
            except (UnknownJob, FrontierLost):
                # Another fleet's, or removed; whoever leases from it is told so.
                continue

    async def _is_behind(self, job: Job) -> bool:
        """By counts: every request that ended is a row, and is counted by the frontier a moment later."""
        stored = await self._writer.read(count_ended, job.id)
        try:
            known = await self._frontier.figures(job.id)
        except FrontierLost:
            # Nothing is given out of it, and it is rebuilt anyway.
            return False
        counted = {"page": known.pages, "redirect": known.redirects, "dead": known.dead}
        counted["drop"] = sum(known.dropped.values())
        return any(stored[kind] > n for kind, n in counted.items())

    async def _heed_operator(self, id: str) -> None:
        """A word that the frontier could not hear, because it did not know the job."""
        state = (await self._writer.run(load_job, id)).state
        if state is JobState.PAUSED:
            await self._frontier.pause(id)
        elif state is JobState.CANCELLED:
            await self._frontier.cancel(id)

    async def _offer_seeds(self, job: Job, line: int, on_offer: Callable[[], None]) -> int | None:
        """Those after this line; gives that of the last, and None if the job takes no more of them."""
        begun = False
        while part := await self._writer.read(seed_targets, job.id, line, SEEDS_AT_ONCE):
            line = part[-1].line
            targets = [given.target for given in part if given.target is not None]
            await self._overflow.offer_known([Offer(job.id, targets)])
            self.moved_at = time.monotonic()
            if not begun:
                on_offer()
            begun = True
            if await self._frontier.over(job.id):
                return None
        return line

    async def _recall_ended(self, job: Job) -> None:
        after = None
        while part := await self._writer.read(ended_requests, job.id, after, ENDED_AT_ONCE):
            after = part[-1]
            endings = [Ended(key, host, OUTCOMES[kind], size, why) for key, host, kind, size, why in part]
            await self._calls.recall(job.id, endings)
            self.moved_at = time.monotonic()

    async def _offer_kept(self, job: Job) -> None:
        after = 0
        while rows := await self._writer.read(kept_offers, job.id, after, KEPT_AT_ONCE):
            after = rows[-1][0]
            for _, texts in rows:
                await self._overflow.offer_known([offer_of(job.id, text) for text in texts])
                self.moved_at = time.monotonic()
                await asyncio.sleep(0)
