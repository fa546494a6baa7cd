"""The way of one request: wait for its start, ask robots.txt, fetch, let its host land, read what came.

Whatever a host or a page does is an ending; what cannot be begun goes back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import NamedTuple

from shoal.engine import ending, refusal
from shoal.engine.aside import Aside, JobReaders, Unread
from shoal.engine.capturing import capture
from shoal.engine.conclusion import conclude, is_big
from shoal.engine.digesting import digest_aside
from shoal.engine.ending import Ending
from shoal.engine.keeping import KeptOffers
from shoal.engine.mark import Mark
from shoal.engine.overflow import Overflow
from shoal.engine.packing import pack_small
from shoal.engine.patience import Patience
from shoal.engine.permission import Permission, Permissions, Say
from shoal.engine.reader_share import GivenUp
from shoal.engine.reading import SitemapPart, is_big_sitemap, read_sitemap
from shoal.engine.refresh import Known
from shoal.engine.sitemaps import Listing, sitemaps_of_host
from shoal.engine.starts import Given, Starts
from shoal.engine.unpacking import Unpacking
from shoal.engine.work import SITEMAP, Work
from shoal.errors import FrontierLost
from shoal.fetch.exchange import Exchange, Failure, FailureKind, retry_after_s
from shoal.fetch.transfer import Fetch
from shoal.frontier.contract import Frontier
from shoal.model import Landing, Lease, Offer, Outcome
from shoal.telemetry import Events
from shoal.urls import domain_of, origin_of

WORTH_WAITING_S = 0.5
"""A lease whose start turns out to be further off goes back instead."""

NO_ROOM_WAIT_S = 0.25
"""When a job has enough pages that wait for a reader. Short: other jobs may ask the same host."""

log = Events(__name__)


class Back(NamedTuple):
    """The request was not begun, and returns to the frontier; its host is left alone for so long."""

    wait_s: float = 0.0


class Travels:
    def __init__(
        self,
        frontier: Frontier,
        overflow: Overflow,
        kept: KeptOffers,
        permissions: Permissions,
        mark: Mark,
        aside: Aside,
        patience: Patience,
    ) -> None:
        self._frontier = frontier
        self._overflow = overflow
        self._permissions = permissions
        self._mark = mark
        self._aside = aside
        self._kept = kept
        self._patience = patience
        self.on_landing: Callable[[Landing], None]
        """Set before the first travel."""
        self._starts = Starts()
        self._unpacking = Unpacking()

    async def make(self, lease: Lease, given: Given, work: Work, known: Known | None) -> Ending | Back:
        # What is known to be refused does not wait for its start: another request may have it then.
        if end := refusal.before_robots(lease, work):
            return end
        permission = self._permissions.known(lease, work)
        if end := refusal.if_forbidden(lease, permission):
            return end
        wait_s = given.wait_s(lease)
        if wait_s > 0 and await self._patience.over_within(wait_s):
            return Back()
        if permission is None or permission.say is not Say.GO:
            permission = await self._permissions.ask(lease, work)
        if permission.say is Say.ASKING:
            return Back(permission.wait_s)
        end = await self._refused(lease, work, permission)
        if end is not None:
            return end
        if not self._aside.has_room(lease.job) and not await self._aside.room(lease.job):
            return Back(NO_ROOM_WAIT_S)
        if not await self._may_begin(lease, permission):
            return Back()
        return await self._fetched(lease, work, known, given.late_s(lease))

    async def _fetched(self, lease: Lease, work: Work, known: Known | None, late_s: float) -> Ending | Back:
        call = work.call(lease, known)
        answer = await work.fetcher.fetch_packed(call)
        if isinstance(answer, Failure) or answer.is_small:
            return await self._read(lease, work, known, late_s, call, answer)
        end: Ending | Back = Back()
        try:
            async with self._unpacking.unpacked(answer, call) as whole:
                if isinstance(whole, Exchange):
                    await digest_aside(whole)
                end = await self._read(lease, work, known, late_s, call, whole)
        finally:
            if isinstance(end, Ending) and end.capture is not None:
                end.hold = answer.hold
            else:
                answer.let_go()
        return end

    async def _read(
        self,
        lease: Lease,
        work: Work,
        known: Known | None,
        late_s: float,
        call: Fetch,
        answer: Exchange | Failure,
    ) -> Ending | Back:
        big = is_big(work, answer)
        if not big:
            self._land(lease, answer, late_s)
        try:
            end = await self._conclude(lease, work, answer, known)
        except GivenUp:
            # Not now, but when its job goes on, or has fewer pages that wait.
            return Back()
        finally:
            if big:
                # Only now: a host that sends such pages waits for their reading itself, and no other does.
                self._land(lease, answer, late_s)
        whole = await self._with_sitemap(work, answer, end)
        if whole is None:
            return Back()
        whole.capture = capture(work, call, answer, whole)
        pack_small(work, whole)
        return whole

    async def _may_begin(self, lease: Lease, permission: Permission) -> bool:
        """Waits out what is left of the gap; False if that is long, or the engine is stopping."""
        gap_s = max(lease.gap_s, permission.crawl_delay_s)
        while gap_s and (early_s := self._starts.early_s(lease.target.host, gap_s)) > 0:
            if early_s > WORTH_WAITING_S or await self._patience.over_within(early_s):
                return False
        self._starts.begin(lease.target.host, gap_s)
        return True

    async def _refused(self, lease: Lease, work: Work, permission: Permission) -> Ending | None:
        """None if the page may be fetched now; otherwise how this ends."""
        robots = permission.robots
        if robots is None or not robots.not_now:
            await self._offer_sitemaps_of(lease, work, robots.rules.sitemaps if robots else [])
        if robots is not None and permission.say is Say.NOT_NOW and permission.asked and not robots.is_refused:
            self.on_landing(refusal.robots_landing(lease, robots))
        return refusal.by_robots(lease, work, permission)

    async def _offer_sitemaps_of(self, lease: Lease, work: Work, listed: list[str]) -> None:
        if not work.spec.sitemaps:
            return
        origin = origin_of(lease.target.url)
        if work.scope.refusal(lease.target.url) or not work.note_mapped(origin):
            return
        await self._offer(work, sitemaps_of_host(work, listed or [f"{origin}/sitemap.xml"]))

    async def _offer(self, work: Work, offer: Offer) -> None:
        await self._kept.keep(work, offer)
        await self._overflow.offer([offer])

    def _land(self, lease: Lease, answer: Exchange | Failure, late_s: float) -> None:
        if isinstance(answer, Failure) and answer.kind is FailureKind.ADDRESS_REFUSED:
            # Nobody was asked: the host is none that does not answer, and its clock has nothing to learn.
            return
        if isinstance(answer, Failure):
            landing = Landing(lease.token, answer.latency_s, None, answer.kind.value, late_s=late_s)
        else:
            wait_s = retry_after_s(answer.headers.get("retry-after"), time.time())
            place = (answer.ip, domain_of(lease.target.host)) if answer.ip else ()
            landing = Landing(lease.token, answer.latency_s, answer.status, None, wait_s, late_s, *place)
        self.on_landing(landing)

    async def _conclude(self, lease: Lease, work: Work, answer: Exchange | Failure, known: Known | None) -> Ending:
        self._mark.set(lease.token)
        try:
            return await conclude(work, lease, answer, known, JobReaders(self._aside, lease.job, self._mark.clear))
        except GivenUp:
            raise
        except Unread as error:
            return _unread(lease, answer, error)
        except Exception as error:
            # A page that we fail to read is that page's end, not the crawl's.
            log.exception("page_unreadable", f"could not read {lease.target.url}", **work.about)
            status = answer.status if isinstance(answer, Exchange) else None
            return ending.dead(lease, "unreadable", status, f"{type(error).__name__}: {error}")
        finally:
            self._mark.clear()

    async def _with_sitemap(self, work: Work, answer: Exchange | Failure, end: Ending) -> Ending | None:
        """Offered part by part, before the sitemap's own lease completes: a million entries need no memory.

        None if the engine was stopped or the job's time ran out before all were, so that the sitemap is read again.
        """
        is_sitemap = end.lease.trail.callback == SITEMAP and end.completion.outcome is Outcome.DONE
        if not is_sitemap or not isinstance(answer, Exchange) or not 200 <= answer.status < 300:
            return end
        listing = Listing(work, end)
        try:
            async with aclosing(self._sitemap_parts(work.job, answer.body)) as parts:
                async for part in parts:
                    for offer in listing.offers(part):
                        await self._offer(work, offer)
                    await asyncio.sleep(0)
                    if self._patience.is_over or await self._is_over(work):
                        return None
        except GivenUp:
            return None
        except Unread as error:
            return _unread(end.lease, answer, error)
        return end

    async def _is_over(self, work: Work) -> bool:
        try:
            return await self._patience.insist(self._frontier.over, work.job) is not None
        except FrontierLost:
            # The lease is lost with it: the sitemap is read again when the job is back.
            return True

    async def _sitemap_parts(self, job: str, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        if is_big_sitemap(body):
            async with aclosing(self._aside.sitemap(job, body)) as parts:
                async for part in parts:
                    yield part
        else:
            for part in read_sitemap(body):
                yield part


def _unread(lease: Lease, answer: Exchange | Failure, error: Unread) -> Ending:
    status = answer.status if isinstance(answer, Exchange) else None
    end = ending.dead(lease, error.reason, status, str(error))
    end.why = str(error)
    return end
