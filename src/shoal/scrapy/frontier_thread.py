"""The thread that talks to the frontier and to the store, so that neither blocks the reactor, nor the reactor them.

It has an event loop of its own: so it works with every reactor, and it keeps the leases of requests whose callback
blocks. A turn reports, offers, leases and settles; turns follow each other every 50 ms, or at once when Scrapy has
nothing to do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Thread
from typing import Protocol

from shoal.errors import FrontierLost, ShoalError, Unavailable
from shoal.frontier.contract import Call, Caller
from shoal.model import JobState, Lease
from shoal.scrapy.crawl_job import CrawlJob
from shoal.scrapy.group_requests import offers_of
from shoal.scrapy.inline_leases import InlineLeases
from shoal.scrapy.outage_log import OutageLog
from shoal.scrapy.outbox import Outbox, Sendings
from shoal.scrapy.settle import Settler

TURN_S = 0.05
IDLE_S = 0.5
AWAY_S = 1.0
BEAT_S = 3.0
CLOSE_S = 30.0
"""How long a spider that closes waits for a frontier or a store that is away."""
log = logging.getLogger("shoal.scrapy")


class Reactor(Protocol):
    """What the scheduler does for the thread. Everything is called in the thread."""

    def wanted(self) -> int:
        """How many leases Scrapy could use now."""

    def held_tokens(self) -> list[int]: ...

    def opened(self, error: BaseException | None) -> None: ...

    def give(self, leases: list[Lease], cookies: dict[str, str]) -> None: ...

    def give_inline(self, leases: list[Lease]) -> None:
        """Leases of requests that go past the scheduler."""

    def offered(self, activity: int) -> None:
        """Everything that was put into the outbox up to `activity` is in the frontier."""

    def rest(self, reason: str, activity: int) -> None:
        """The frontier has nothing more for this process, if nothing happened since `activity`."""

    def lost(self, error: Exception) -> None:
        """The crawl cannot continue."""

    def forget_recent(self) -> None:
        """Redis may have lost requests: those that are found again must be offered again."""

    def flush_feeds(self) -> None: ...

    def closed(self) -> None: ...


class FrontierThread:
    def __init__(self, reactor: Reactor, outbox: Outbox, open_job: Callable[[], Awaitable[CrawlJob]]) -> None:
        self._reactor = reactor
        self._outbox = outbox
        self._open_job = open_job
        self._thread = Thread(target=lambda: asyncio.run(self._run()), name="shoal-frontier", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hurry: asyncio.Event | None = None
        self._closing: tuple[JobState | None, str | None] | None = None
        self._pending = Sendings()
        self._lease_call: Call | None = None
        self._edition = 0
        self._outages = OutageLog()
        self.crawl: CrawlJob | None = None

    def start(self) -> None:
        self._thread.start()

    def hurry(self) -> None:
        """Begins the next turn at once. From any thread."""
        if self._loop is not None and self._hurry is not None and not self._loop.is_closed():
            # The thread may end at this moment.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._hurry.set)

    def close(self, state: JobState | None, reason: str | None) -> None:
        """`closed` of the reactor follows. `state` is for a job that has not ended, with its reason."""
        self._closing = (state, reason)
        self.hurry()

    async def _run(self) -> None:
        self._loop, self._hurry = asyncio.get_running_loop(), asyncio.Event()
        try:
            crawl = self.crawl = await self._opened()
        except BaseException as error:
            # Raised in the thread of the reactor, which waits for the opening.
            self._reactor.opened(error)
            # Scrapy closes the scheduler also if it could not be opened.
            self._reactor.closed()
            return
        # One for all tasks: no two of them use the same verb.
        self._caller = Caller(crawl.caller)
        self._settler = Settler(crawl, self._caller, self._outages, self._reactor.flush_feeds, self.hurry)
        self._inline = InlineLeases(crawl.frontier, crawl.id, crawl.caller, crawl.terms, self._reactor.give_inline)
        try:
            self._reactor.give([], await crawl.cookies.load())
            self._reactor.opened(None)
            await self._work(crawl)
            await self._finish(crawl)
        except Exception as error:
            # The reactor ends the crawl with it.
            log.exception("the frontier's thread failed")
            self._reactor.lost(error)
        finally:
            self._settler.close()
            await crawl.close()
            self._reactor.closed()

    async def _opened(self) -> CrawlJob:
        while True:
            try:
                crawl = await self._open_job()
            except Unavailable as error:
                if self._closing is not None:
                    raise
                self._outages.waits("open", error)
                await asyncio.sleep(AWAY_S)
            else:
                self._outages.over("open")
                return crawl

    async def _work(self, crawl: CrawlJob) -> None:
        if crawl.has_ended:
            log.info("job %s has ended: there is nothing to do", crawl.id)
            self._reactor.rest("ended", self._outbox.activity)
        else:
            log.info("works on job %s; `shoal watch %s` shows its progress", crawl.id, crawl.id)
        beat = asyncio.create_task(self._beat(crawl))
        while self._closing is None:
            try:
                wait_s = TURN_S if crawl.has_ended else await self._turn(crawl)
                self._outages.over("turn")
            except FrontierLost:
                self._outages.waits("turn", f"Redis lost job {crawl.id}, which is filled again from the store")
                self._reactor.forget_recent()
                await crawl.restore()
                wait_s = TURN_S
            except Unavailable as error:
                self._outages.waits("turn", error)
                self._reactor.forget_recent()
                wait_s = AWAY_S
            await self._sleep(wait_s)
        beat.cancel()

    async def _sleep(self, seconds: float) -> None:
        assert self._hurry is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        self._hurry.clear()

    async def _beat(self, crawl: CrawlJob) -> None:
        """Keeps the leases, also while a turn waits for the store or a callback blocks the reactor."""
        extended_at = time.monotonic()
        while True:
            try:
                if not crawl.has_ended:
                    await crawl.beat()
                    if time.monotonic() - extended_at > crawl.frontier.lease_s / 4:
                        extended_at = time.monotonic()
                        if tokens := [*self._reactor.held_tokens(), *self._settler.tokens, *self._inline.tokens]:
                            await crawl.frontier.extend(self._caller.next(), tokens)
                        await crawl.frontier.reap()
            except Unavailable:
                log.debug("the frontier is away", exc_info=True)
            await asyncio.sleep(min(BEAT_S, crawl.frontier.lease_s / 4))

    async def _turn(self, crawl: CrawlJob) -> float:
        """Returns how long to wait for the next one."""
        taken, activity = self._outbox.take()
        self._pending.add(taken)
        # Scrapy may have nothing to do until the lease: a chain of requests waits for each round trip.
        reported = asyncio.create_task(self._report_and_lease_inline(crawl))
        try:
            await self._offer(crawl)
        finally:
            await reported
        leases = await self._lease(crawl)
        if not self._pending.found:
            self._reactor.offered(activity)
            self._settler.add(self._pending.ended, at_once=not self._reactor.held_tokens())
            self._pending.ended = []
        is_busy = leases or self._reactor.held_tokens() or self._settler.tokens or self._inline.is_waiting
        if is_busy or not self._pending.is_empty:
            return TURN_S
        return await self._idle(crawl, activity)

    async def _report_and_lease_inline(self, crawl: CrawlJob) -> None:
        await self._report(crawl)
        # Before the pages: a callback or a pipeline waits for them, and holds its request meanwhile.
        await self._inline.turn(self._pending.asked, self._pending.left)

    async def _report(self, crawl: CrawlJob) -> None:
        pending = self._pending
        if landings := pending.landings:
            await crawl.frontier.landed(self._caller.next(), landings)
            del landings[:]
        while pending.crawl_delays:
            host, seconds = next(iter(pending.crawl_delays.items()))
            await crawl.frontier.record_robots_answer(crawl.id, host, seconds)
            del pending.crawl_delays[host]

    async def _offer(self, crawl: CrawlJob) -> None:
        pending = self._pending
        if pending.cookies:
            await crawl.cookies.save(pending.cookies)
            pending.cookies = {}
            # Leases of the requests that are offered from now on carry a newer edition.
            await crawl.frontier.touch(crawl.id)
        if not pending.found:
            return
        offers = offers_of(crawl.id, pending.found)
        offered = await crawl.frontier.offer(self._caller.next(), offers)
        left = {target.fingerprint for offer in offered.left for target in offer.targets}
        pending.found = [each for each in pending.found if each.fingerprint in left]
        self._settler.log_offers(offers)

    async def _lease(self, crawl: CrawlJob) -> list[Lease]:
        wanted = 0 if self._settler.is_behind else self._reactor.wanted()
        if wanted <= 0:
            return []
        # A call that got no answer is repeated: its leases are held already.
        self._lease_call = call = self._lease_call or self._caller.next()
        leases = await crawl.frontier.lease(call, wanted, job=crawl.id)
        self._lease_call = None
        newest = max((lease.edition for lease in leases), default=0)
        cookies = {}
        if newest > self._edition:
            self._edition, cookies = newest, await crawl.cookies.load()
        if leases:
            self._reactor.give(leases, cookies)
        return leases

    async def _idle(self, crawl: CrawlJob, activity: int) -> float:
        reason = await crawl.frontier.idle_reason(crawl.id)
        if reason not in (None, "paused"):
            self._reactor.rest(str(reason), activity)
            return IDLE_S
        ready_in_s = await crawl.frontier.next_ready_in(job=crawl.id)
        return IDLE_S if ready_in_s is None else min(IDLE_S, max(0.001, ready_in_s))

    async def _finish(self, crawl: CrawlJob) -> None:
        """Everything that Scrapy has done is kept, if the servers come back in time."""
        if crawl.has_ended:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._flush(crawl)
                reason = await crawl.frontier.idle_reason(crawl.id)
                await crawl.end(None if reason == "paused" else reason, *(self._closing or (None, None)))
        except (TimeoutError, ShoalError) as error:
            log.error("job %s is left as it is; start the spider again to continue it: %s", crawl.id, error)

    async def _flush(self, crawl: CrawlJob) -> None:
        while True:
            try:
                self._pending.add(self._outbox.take()[0])
                await self._report(crawl)
                await self._offer(crawl)
                self._settler.add(self._pending.ended, at_once=True)
                self._pending.ended = []
                await self._settler.join()
                if tokens := self._reactor.held_tokens():
                    await crawl.frontier.release(self._caller.next(), tokens)
                await self._inline.close()
                return
            except FrontierLost:
                raise
            except Unavailable as error:
                self._outages.waits("close", error)
                await asyncio.sleep(AWAY_S)
