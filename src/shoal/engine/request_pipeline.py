"""The pipeline of one request: wait for its start, check robots.txt, fetch, tell the host's clock, read the response.

Whatever a host or a page does leads to a result. A request that cannot be started is returned to the frontier.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from shoal.engine import request_result, unfetched_requests
from shoal.engine.active_job import ActiveJob
from shoal.engine.attempt import AnsweredAttempt, Attempt
from shoal.engine.fetch_in_browser import fetch_in_browser
from shoal.engine.leasing.host_feedback import HostFeedback, landing_of, landing_of_block, landing_of_robots
from shoal.engine.leasing.start_times import LeaseTiming, StartTimes
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.readers.pool import JobReaders, ReaderPool
from shoal.engine.readers.reader_client import ReadFailed
from shoal.engine.readers.scheduler import ReadAbandoned
from shoal.engine.reading.big_bodies import Decompression, digest_in_thread
from shoal.engine.reading.blocked_requests import blocked
from shoal.engine.reading.conditional_recrawl import KnownPage
from shoal.engine.reading.crash_marker import CrashMarker, PageMark
from shoal.engine.reading.interpret_response import interpret_response, is_big, is_wanted
from shoal.engine.reading.sitemap_offers import SitemapOffers
from shoal.engine.request_result import RequestResult
from shoal.engine.robots.check import Access, RobotsCheck, RobotsDecision
from shoal.engine.robots.page_requests import rules_of_page
from shoal.engine.saving.build_capture import capture, pack_small
from shoal.fetch.blocks.find_block import Block, find_block
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind, FetchAborted
from shoal.fetch.proxies.exits import NoProxy
from shoal.model import Lease
from shoal.telemetry import EventLogger

if TYPE_CHECKING:
    from shoal.browser.browser_pool import BrowserPool
    from shoal.engine.proxies.job_exits import JobExits

WORTH_WAITING_S = 0.5
"""A lease that would have to wait longer for its start is returned instead."""

NO_ROOM_WAIT_S = 0.25
"""Used when a job has enough pages that wait for a reader. Short, because other jobs may fetch from the same host."""

log = EventLogger(__name__)


class ReturnLease(NamedTuple):
    """The request was not started, and returns to the frontier. The job leaves its host alone for `wait_s`."""

    wait_s: float = 0.0
    needs_browser: bool = False
    """It is left to the processes that have one."""


class RequestPipeline:
    def __init__(
        self,
        sitemaps: SitemapOffers,
        robots: RobotsCheck,
        crash_marker: CrashMarker,
        readers: ReaderPool,
        host_feedback: HostFeedback,
        outages: OutageRetry,
    ) -> None:
        self._sitemaps = sitemaps
        self._robots = robots
        self._crash_marker = crash_marker
        self._readers = readers
        self._host_feedback = host_feedback
        self._outages = outages
        self._starts = StartTimes()
        self._decompression = Decompression()

    async def run(
        self, lease: Lease, timing: LeaseTiming, active_job: ActiveJob, known: KnownPage | None
    ) -> RequestResult | ReturnLease:
        # A request known to be refused does not wait for its start, so that another request can use that start.
        if result := unfetched_requests.before_robots(lease, active_job):
            return await self._with_errors_callback(lease, active_job, result)
        decision = self._robots.known(lease, active_job)
        if result := unfetched_requests.if_forbidden(lease, decision):
            return result
        wait_s = timing.wait_s(lease)
        if wait_s > 0 and await self._outages.stopped_within(wait_s):
            return ReturnLease()
        if decision is None or decision.access is not Access.GO:
            decision = await self._robots.ask(lease, active_job)
        if decision.access is Access.ASKING:
            return ReturnLease(decision.wait_s)
        result = await self._refusal(lease, active_job, decision)
        if result is not None:
            return await self._with_errors_callback(lease, active_job, result)
        if not self._readers.has_room(lease.job) and not await self._readers.wait_for_room(lease.job):
            return ReturnLease(NO_ROOM_WAIT_S)
        attempt = Attempt(lease, active_job, known, timing, decision)
        if active_job.exits is not None:
            return await self._fetch_through_proxy(attempt, active_job.exits)
        return await self._fetch(attempt)

    async def _fetch_through_proxy(self, attempt: Attempt, exits: JobExits) -> RequestResult | ReturnLease:
        most_cost = attempt.active_job.spec.limits.cost
        if exits.must_report(most_cost):
            return request_result.elsewhere(attempt.lease, was_sent=False)
        exit = await exits.take(attempt.lease, most_cost)
        if isinstance(exit, NoProxy):
            return ReturnLease(exit.wait_s)
        attempt.exit = exit
        async with exits.used(exit):
            result = await self._fetch(attempt)
        if isinstance(result, RequestResult):
            exits.name_proxies(exit, result)
            result.completion.cost = exits.take_cost()
        return result

    async def _fetch(self, attempt: Attempt) -> RequestResult | ReturnLease:
        lease, active_job, exit = attempt.lease, attempt.active_job, attempt.exit
        call = active_job.call(lease, attempt.known, exit)
        browser = active_job.browser if call.rendering is not None else None
        if call.rendering is not None and (browser is None or _is_left_to_others(browser.pool, lease)):
            return ReturnLease(needs_browser=True)
        async with AsyncExitStack() as slot:
            if browser is not None:
                # Before the request counts as begun: a page may wait for its turn in the browser.
                await slot.enter_async_context(browser.pool.slot())
            if not await self._may_begin(lease, attempt.decision):
                return ReturnLease()
            late_s = attempt.timing.late_s(lease)
            try:
                if browser is None:
                    answer = await active_job.fetcher_of(exit).fetch_packed(call)
                else:
                    assert call.rendering is not None
                    rules = rules_of_page(self._robots, lease, active_job, call.rendering)
                    answer = await fetch_in_browser(browser, call, rules, lease, active_job)
                active_job.after_fetch(lease, call)
            except FetchAborted:
                return ReturnLease(NO_ROOM_WAIT_S)
            if _is_open(answer):
                # The callback works on the page, which keeps its slot until then.
                slot.push_async_callback(_close, answer, lease, active_job, call)
            else:
                await slot.aclose()
            if isinstance(answer, Exchange) and exit is not None:
                answer.proxy = exit.name
            return await self._unpack_and_read(AnsweredAttempt(attempt, call, answer, late_s))

    async def _with_errors_callback(
        self, lease: Lease, active_job: ActiveJob, result: RequestResult
    ) -> RequestResult | ReturnLease:
        """Gives a request that failed without a fetch to its errors callback, if it has one."""
        if active_job.callbacks is None or lease.trail.options is None:
            return result
        mark = PageMark(self._crash_marker, lease.token)
        mark.set()
        try:
            readers = JobReaders(self._readers, lease.job, mark)
            return await active_job.callbacks.handle_failure(active_job, result, None, readers)
        except ReadAbandoned:
            return ReturnLease()
        finally:
            mark.clear()

    async def _unpack_and_read(self, answered: AnsweredAttempt) -> RequestResult | ReturnLease:
        answer = answered.answer
        if isinstance(answer, Failure) or answer.is_small:
            return await self._judge_and_read(answered)
        result: RequestResult | ReturnLease = ReturnLease()
        try:
            async with self._decompression.unpacked(answer, answered.call) as unpacked:
                if isinstance(unpacked, Exchange):
                    await digest_in_thread(unpacked)
                result = await self._judge_and_read(replace(answered, answer=unpacked))
        finally:
            if isinstance(result, RequestResult) and result.capture is not None:
                result.hold = answer.hold
            else:
                answer.let_go()
        return result

    async def _judge_and_read(self, answered: AnsweredAttempt) -> RequestResult | ReturnLease:
        """A request that a proxy failed is repeated through another one, and a blocked one is never read."""
        attempt, answer = answered.attempt, answered.answer
        lease, active_job, exit = attempt.lease, attempt.active_job, attempt.exit
        block = self._block(active_job, lease, answer) if isinstance(answer, Exchange) else None
        exits = active_job.exits
        again = exits is not None and exit is not None and exits.goes_elsewhere(exit, lease, answer, block)
        if block is not None and isinstance(answer, Exchange):
            self._host_feedback.add(landing_of_block(lease, answer, answered.late_s))
            if again:
                return request_result.elsewhere(lease)
            return await self._with_errors_callback(lease, active_job, blocked(active_job, lease, answer, block))
        if again:
            was_sent = isinstance(answer, Exchange) or answer.kind is not FailureKind.PROXY
            return request_result.elsewhere(lease, was_sent)
        return await self._read(answered)

    async def _read(self, answered: AnsweredAttempt) -> RequestResult | ReturnLease:
        attempt, answer = answered.attempt, answered.answer
        lease, active_job = attempt.lease, attempt.active_job
        lands_late = is_big(active_job, answer) or _is_open(answer)
        if not lands_late:
            self._land(lease, answer, answered.late_s)
        try:
            result = await self._interpret(lease, active_job, answer, attempt.known)
        except ReadAbandoned:
            # The request is fetched again when its job continues, or has fewer waiting pages.
            return ReturnLease()
        finally:
            if lands_late:
                # Only now: a host that sends big pages waits until they are read, and delays no other host. What a
                # callback requests with Playwright is charged to the host too.
                self._land(lease, answer, answered.late_s)
        if isinstance(answer, Exchange):
            block = active_job.soft_blocks.empty_list(active_job, lease, answer, result)
            if block is not None:
                return await self._blocked_after_all(attempt, answer, block)
        if result.listing is not None and isinstance(answer, Exchange):
            try:
                if not await self._sitemaps.offer_entries(active_job, answer, result):
                    return ReturnLease()
            except ReadFailed as error:
                result = _read_failure(lease, answer, error)
        result.capture = capture(active_job, answered.call, answer, result)
        pack_small(active_job, result)
        return result

    def _block(self, active_job: ActiveJob, lease: Lease, answer: Exchange) -> Block | None:
        found = None if is_wanted(lease, answer) else find_block(answer)
        return found or active_job.soft_blocks.login_wall(active_job, lease, answer)

    async def _blocked_after_all(self, attempt: Attempt, answer: Exchange, block: Block) -> RequestResult | ReturnLease:
        lease, active_job, exits, exit = attempt.lease, attempt.active_job, attempt.active_job.exits, attempt.exit
        if exits is not None and exit is not None and exits.is_blocked_after_all(exit, lease, block):
            return request_result.elsewhere(lease)
        return await self._with_errors_callback(lease, active_job, blocked(active_job, lease, answer, block))

    async def _may_begin(self, lease: Lease, decision: RobotsDecision) -> bool:
        """Waits for the rest of the gap. False if that takes long, or the engine is stopping."""
        gap_s = max(lease.gap_s, decision.crawl_delay_s)
        while gap_s and (early_s := self._starts.early_s(lease.target.host, gap_s)) > 0:
            if early_s > WORTH_WAITING_S or await self._outages.stopped_within(early_s):
                return False
        self._starts.begin(lease.target.host, gap_s)
        return True

    async def _refusal(self, lease: Lease, active_job: ActiveJob, decision: RobotsDecision) -> RequestResult | None:
        """None if the page may be fetched now; otherwise the result of the request."""
        robots = decision.robots
        if active_job.spec.sitemaps and (robots is None or not robots.unavailable_reason):
            await self._sitemaps.offer_sitemaps_of_host(lease, active_job, robots.rules.sitemaps if robots else [])
        if robots is not None and decision.access is Access.NOT_NOW and decision.asked and not robots.is_refused:
            self._host_feedback.add(landing_of_robots(lease, robots))
        return unfetched_requests.by_robots(lease, active_job, decision)

    def _land(self, lease: Lease, answer: Exchange | Failure, late_s: float) -> None:
        if landing := landing_of(lease, answer, late_s):
            self._host_feedback.add(landing, lease.gap_s)

    async def _interpret(
        self, lease: Lease, active_job: ActiveJob, answer: Exchange | Failure, known: KnownPage | None
    ) -> RequestResult:
        mark = PageMark(self._crash_marker, lease.token)
        mark.set()
        try:
            return await interpret_response(
                active_job, lease, answer, known, JobReaders(self._readers, lease.job, mark)
            )
        except ReadAbandoned:
            raise
        except ReadFailed as error:
            return _read_failure(lease, answer, error)
        except Exception as error:
            # A page that we fail to read must not stop the crawl.
            log.exception("page_unreadable", f"could not read {lease.target.url}", **active_job.about)
            status = answer.status if isinstance(answer, Exchange) else None
            return request_result.dead(lease, "unreadable", status, f"{type(error).__name__}: {error}")
        finally:
            mark.clear()


def _is_left_to_others(pool: BrowserPool, lease: Lease) -> bool:
    """If it was queued for every process and waited here for its turn, it would hold a slot of its host."""
    return pool.is_away or (pool.is_crowded and not lease.needs_browser)


def _is_open(answer: Exchange | Failure) -> TypeGuard[Exchange]:
    """Whether its page is open in Playwright."""
    return isinstance(answer, Exchange) and answer.rendered is not None and answer.rendered.ending is not None


async def _close(answer: Exchange, lease: Lease, active_job: ActiveJob, call: Fetch) -> None:
    if answer.rendered is not None and answer.rendered.ending is not None:
        # Even if this task is cancelled: nothing of the page may stay.
        await asyncio.shield(answer.rendered.ending.aclose())
        answer.rendered.playwright = answer.rendered.ending = None
        active_job.after_fetch(lease, call)


def _read_failure(lease: Lease, answer: Exchange | Failure, error: ReadFailed) -> RequestResult:
    status = answer.status if isinstance(answer, Exchange) else None
    result = request_result.dead(lease, error.reason, status, str(error))
    result.why = str(error)
    return result
