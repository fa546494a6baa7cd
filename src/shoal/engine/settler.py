"""The last part of the travel: archive and store, then offer the links, then complete the leases, in that order and in
batches.

A kill between two steps leaves leases that return and repeat; each step takes a repetition without harm. Batches grow
by themselves: whatever ended while one was being stored makes the next. While much is in flight they are let grow: each
batch takes the interpreter from the event loop and gives it back some ten times, however big it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from shoal.engine.calls import Calls
from shoal.engine.ending import Ending
from shoal.engine.keeping import KeptOffers
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.engine.work import Work
from shoal.engine.works import Works
from shoal.model import DeadLetter, Drop, Offer, PageRecord, RedirectRecord
from shoal.store.archive.keeping import archive_and_save
from shoal.store.batch import Batch
from shoal.store.items import save_item_types
from shoal.store.jobs import admit
from shoal.store.remembered import forget_cookies, save_cookies
from shoal.store.writer import Writer
from shoal.urls.resolve import note_offered

MAX_BATCH = 128
WORTH_A_SAVE = 64
SAVE_WAITS_S = 0.03
"""Fewer endings than that wait so long for more."""
OFFERED_AT_ONCE = 5_000
"""Targets in one call of the frontier, some 4 ms of it, so that the links of a big page hold nobody up."""


class Settler:
    def __init__(
        self,
        calls: Calls,
        overflow: Overflow,
        kept: KeptOffers,
        writer: Writer,
        works: Works,
        patience: Patience,
    ) -> None:
        self._calls = calls
        self._overflow = overflow
        self._kept = kept
        self._writer = writer
        self._works = works
        self._insist = patience.insist
        self.on_settled: Callable[[list[Ending]], None] = lambda _: None
        self.report_landings: Callable[[], Awaitable[None]]
        self.more_to_come: Callable[[], bool] = lambda: False
        """All are set before `run`."""
        self._endings: list[Ending] = []
        self._some = asyncio.Event()
        self._settling: list[Ending] = []
        self._bytes = 0
        self._fault: BaseException | None = None

    @property
    def backlog(self) -> int:
        return len(self._endings) + len(self._settling)

    @property
    def tokens(self) -> set[int]:
        """Of the leases that have ended here, and are not settled."""
        return {end.lease.token for end in (*self._endings, *self._settling)}

    @property
    def backlog_bytes(self) -> int:
        return self._bytes

    def put(self, ending: Ending) -> None:
        self._endings.append(ending)
        self._bytes += _bytes(ending)
        self._some.set()

    def fail(self, error: BaseException | None) -> None:
        """Ends `run` with an error from elsewhere."""
        self._fault = error
        self._some.set()

    async def run(self) -> None:
        """Until cancelled; whoever cancels waits for `backlog` to be 0 first."""
        while True:
            await self._some.wait()
            if self._fault is not None:
                raise self._fault
            if len(self._endings) < WORTH_A_SAVE and self.more_to_come():
                await asyncio.sleep(SAVE_WAITS_S)
            endings, self._endings = self._endings[:MAX_BATCH], self._endings[MAX_BATCH:]
            if not self._endings:
                self._some.clear()
            self._settling = endings
            await self._settle(endings)
            self._settling = []
            self._bytes -= sum(map(_bytes, endings))
            for ending in endings:
                if ending.hold is not None:
                    ending.hold.release()
            self.on_settled(endings)

    async def _settle(self, endings: list[Ending]) -> None:
        for batch in batches(endings):
            work = self._works[batch.job]
            found = (offer for ending in endings if ending.lease.job == batch.job for offer in ending.offers)
            batch.offers = self._kept.texts(work, found)
            batch.add_skipped(work.skipped)
            work.skipped.clear()
            await self._insist(self._save, batch)
            await self._save_changes(work)
        for offers in offered_together(endings):
            await self._overflow.offer(offers)
        for ending in endings:
            note_offered(ending.links)
        # A lease that is complete teaches its host's clock nothing any more.
        await self.report_landings()
        await self._calls.complete([ending.completion for ending in endings])

    async def _save(self, batch: Batch) -> None:
        recorder = self._works[batch.job].recorder
        if recorder is None:
            await self._writer.save(batch)
        else:
            await self._writer.run(archive_and_save, batch, recorder)

    async def _save_changes(self, work: Work) -> None:
        touched = bool(work.newly_admitted) or work.cookies_changed
        if work.newly_admitted:
            admitted, work.newly_admitted = work.newly_admitted, []
            await self._insist(self._writer.run, admit, work.job, admitted)
        if work.new_types:
            types, work.new_types = work.new_types, []
            await self._insist(self._writer.run, save_item_types, work.job, types)
        if work.cookies_changed and work.jar.due:
            work.cookies_changed = False
            changed = work.jar.changed_lines()
            if forgotten := work.jar.forgotten():
                await self._insist(self._writer.run, forget_cookies, work.job, forgotten)
            if changed:
                await self._insist(self._writer.run, save_cookies, work.job, changed)
        if touched and work.keeps_offers:
            # Before the links are offered that may need them.
            await self._calls.touch(work.job)


def _bytes(ending: Ending) -> int:
    page_bytes = ending.record.bytes if isinstance(ending.record, PageRecord) else 0
    return page_bytes if ending.capture is None else max(page_bytes, len(ending.capture.raw))


def offered_together(endings: list[Ending]) -> Iterator[list[Offer]]:
    """All offers, as few calls as may be."""
    together: list[Offer] = []
    targets = 0
    for offer in (offer for ending in endings for offer in ending.offers):
        if together and targets + len(offer.targets) > OFFERED_AT_ONCE:
            yield together
            together, targets = [], 0
        together.append(offer)
        targets += len(offer.targets)
    if together:
        yield together


def batches(endings: list[Ending]) -> list[Batch]:
    """What the endings leave to be stored, job by job."""
    by_job: dict[str, Batch] = {}
    for ending in endings:
        lease = ending.lease
        batch = by_job.setdefault(lease.job, Batch(lease.job))
        match ending.record:
            case PageRecord():
                batch.pages.append(ending.record)
            case RedirectRecord():
                batch.redirects.append(ending.record)
            case DeadLetter():
                batch.dead.append(ending.record)
            case Drop():
                batch.drops.append(ending.record)
        if ending.record is not None and ending.capture is not None:
            batch.captures.append((ending.record, ending.capture))
        if ending.skips:
            batch.skips[lease.target.fingerprint] = ending.skips
        for reason, urls in ending.trapped.items():
            batch.samples.setdefault(reason, []).extend(urls)
        if ending.failed:
            kind, status = ending.failed
            sample = f"{lease.target.url}: {ending.why}" if ending.why else lease.target.url
            batch.add_failure(kind, status, lease.target.host, sample)
    return list(by_job.values())
