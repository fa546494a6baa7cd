"""The engine: keeps as many requests travelling as it may, and ends when its jobs have nothing more to lease.

    lease -> (robots) -> fetch -> landed -> extract -> store -> offer -> complete

The first half is `Engine._travel`, one task per request; the second is the Settler, in batches. Everything is bounded:
fetches by `concurrency`, endings not yet stored by a multiple of it, so that a slow store slows leasing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from shoal.engine import ending, refusal
from shoal.engine.aside import Aside, Unread
from shoal.engine.calls import Calls
from shoal.engine.capturing import capture
from shoal.engine.conclusion import conclude, is_big
from shoal.engine.ending import Ending
from shoal.engine.mark import Mark
from shoal.engine.patience import Patience
from shoal.engine.permission import GO, Permission, Permissions, Say
from shoal.engine.reading import SitemapPart, is_big_sitemap, read_sitemap
from shoal.engine.refresh import Known, Refresh
from shoal.engine.settler import Settler
from shoal.engine.sitemaps import sitemap_offer, sitemap_offers
from shoal.engine.starts import Starts
from shoal.engine.work import SITEMAP, Work
from shoal.errors import DiskFull
from shoal.fetch.exchange import Exchange, Failure, retry_after_s
from shoal.frontier.contract import Frontier
from shoal.model import Landing, Lease, Outcome
from shoal.store.writer import Writer
from shoal.urls import origin_of

BACKLOG_PER_FETCH = 4
BACKLOG_BYTES = 32_000_000
"""Of pages read but not stored; a page with tens of thousands of links weighs in memory many times its size."""
ASIDE_BYTES = 256_000_000
"""Of big pages that wait to be read, of however many hosts."""
GATHER_S = 0.003
"""While plenty is in flight, landings gather this long, so that one call serves several."""
POLL_S = 0.5
"""How soon an idle engine sees what another terminal wrote."""
KEEP_EVERY_S = 20.0
ASKING_WAIT_S = 0.25
WORTH_WAITING_S = 0.5
"""A lease whose start turns out to be further off goes back instead."""

log = logging.getLogger(__name__)


class Engine:
    def __init__(self, frontier: Frontier, writer: Writer, mark: Mark, concurrency: int, caller: str) -> None:
        self._frontier = frontier
        self._mark = mark
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._patience = Patience(self._stopping)
        self.insist = self._patience.insist
        """`await insist(write, ...)`: whatever may find the disk full is tried again until it is not."""
        self._calls = Calls(frontier, caller, self._patience)
        self._permissions = Permissions(frontier, writer, self._patience)
        self._aside = Aside()
        self._works: dict[str, Work] = {}
        self._refresh = Refresh(writer, self._works)
        self._settler = Settler(
            self._calls, writer, self._works, self._settled, self._report_landings, self._patience
        )
        self._fetching: set[asyncio.Task[None]] = set()
        self._starts = Starts()
        self._held: set[int] = set()
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()
        self._wake = asyncio.Event()
        self._mapped: set[tuple[str, str]] = set()
        self.on_ending: Callable[[Ending], None] = lambda _: None
        """Called for every ending once it is stored."""

    def add(self, work: Work) -> None:
        self._works[work.job] = work

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def in_flight(self) -> int:
        return len(self._fetching)

    @property
    def waiting_for(self) -> str | None:
        """In words, what keeps the engine from working at all, such as a full disk."""
        return self._patience.waiting_for

    def stop(self) -> None:
        """Lease nothing more; `run` returns when what is in flight has been saved, if it can be."""
        self._stopping.set()
        self._wake.set()

    async def run(self) -> dict[str, str]:
        """Works until every job rests, or is told to stop. Says why each job rests; a stopped one is missing."""
        resting: dict[str, str] = {}
        background = [asyncio.create_task(self._settler.run()), asyncio.create_task(self._keep_leases())]
        try:
            while len(resting) < len(self._works) and not self._stopping.is_set():
                _raise_fault(background)
                await self._turn(resting)
            while self._fetching or self._settler.backlog:
                _raise_fault(background)
                await asyncio.wait([*self._fetching, *background], timeout=0.02, return_when=asyncio.FIRST_COMPLETED)
            await self._report_landings()
        except DiskFull:
            # Only when stopping. What could not be saved is still leased, and returns when the job is resumed.
            log.warning("stopped with a full disk: what was in flight is fetched again")
        finally:
            for task in (*background, *self._fetching):
                task.cancel()
            await asyncio.gather(*background, *self._fetching, return_exceptions=True)
            self._aside.close()
        return resting

    async def _turn(self, resting: dict[str, str]) -> None:
        self._wake.clear()
        await self._report_landings()
        room = min(
            self._concurrency - len(self._fetching), BACKLOG_PER_FETCH * self._concurrency - self._settler.backlog
        )
        if self._settler.backlog_bytes > BACKLOG_BYTES or self._aside.held_bytes > ASIDE_BYTES or self.waiting_for:
            room = 0
        leases = await self._calls.lease(room) if room > 0 else []
        known = await self._refresh.known(leases)
        for lease in leases:
            self._start(lease, known.get(lease.token))
        if leases and len(self._fetching) > self._concurrency // 2:
            await asyncio.sleep(GATHER_S)
        elif not leases:
            await self._note_resting(resting)
            if len(resting) < len(self._works):
                await self._idle(room)

    async def _note_resting(self, resting: dict[str, str]) -> None:
        for job in self._works.keys() - resting.keys():
            reason = await self._frontier.rest(job)
            if reason is not None and reason != "paused":
                resting[job] = reason

    async def _idle(self, room: int) -> None:
        wait_s = await self._frontier.next_ready_in() if room > 0 else None
        try:
            await asyncio.wait_for(self._wake.wait(), POLL_S if wait_s is None else min(wait_s, POLL_S))
        except TimeoutError:
            pass

    def _start(self, lease: Lease, known: Known | None) -> None:
        self._held.add(lease.token)
        task = asyncio.create_task(self._travel(lease, known))
        self._fetching.add(task)
        task.add_done_callback(self._fetched)

    def _fetched(self, task: asyncio.Task[None]) -> None:
        self._fetching.discard(task)
        self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            # Nothing a page or a host does raises here: it is ours, and the crawl must not go on without it.
            self._settler.fail(task.exception())

    async def _travel(self, lease: Lease, known: Known | None) -> None:
        work = self._works[lease.job]
        if lease.wait_s > 0 and await self._stopped_within(lease.wait_s):
            await self._give_back(lease)
            return
        end = refusal.before_robots(lease, work)
        permission = GO
        if end is None:
            permission = await self._permissions.ask(lease, work)
            if permission.say is Say.ASKING:
                await self._give_back(lease, ASKING_WAIT_S)
                return
            end = await self._refused(lease, work, permission)
        if end is None:
            if not await self._may_begin(lease, permission):
                await self._give_back(lease)
                return
            call = work.call(lease, known)
            answer = await work.fetcher.fetch(call)
            big = is_big(work, answer)
            if not big:
                self._land(lease, answer)
            end = await self._conclude(lease, work, answer, known)
            if big:
                # Only now: a host that sends such pages waits for their reading itself, and no other does.
                self._land(lease, answer)
            end = await self._with_sitemap(work, answer, end)
            if end is None:
                await self._give_back(lease)
                return
            end.capture = capture(work, call, answer, end)
        self._settler.put(end)

    async def _may_begin(self, lease: Lease, permission: Permission) -> bool:
        """Waits out what is left of the gap; False if that is long, or the engine is stopping."""
        gap_s = max(lease.gap_s, permission.crawl_delay_s)
        while gap_s and (early_s := self._starts.early_s(lease.target.host, gap_s)) > 0:
            if early_s > WORTH_WAITING_S or await self._stopped_within(early_s):
                return False
        self._starts.begin(lease.target.host)
        return True

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _give_back(self, lease: Lease, wait_s: float = 0.0) -> None:
        await self._calls.release([lease.token], wait_s)
        self._held.discard(lease.token)

    async def _refused(self, lease: Lease, work: Work, permission: Permission) -> Ending | None:
        """None if the page may be fetched now; otherwise how this ends."""
        robots = permission.robots
        if robots is None or not robots.not_now:
            await self._offer_sitemaps_of(lease, work, robots.rules.sitemaps if robots else [])
        if robots is not None and permission.say is Say.NOT_NOW and permission.asked:
            self._landings.append(refusal.robots_landing(lease, robots))
        return refusal.by_robots(lease, work, permission)

    async def _offer_sitemaps_of(self, lease: Lease, work: Work, listed: list[str]) -> None:
        if not work.spec.sitemaps:
            return
        origin = origin_of(lease.target.url)
        if (work.job, origin) in self._mapped or work.scope.refusal(lease.target.url):
            return
        self._mapped.add((work.job, origin))
        await self._calls.offer([sitemap_offer(work, listed or [f"{origin}/sitemap.xml"])])

    def _land(self, lease: Lease, answer: Exchange | Failure) -> None:
        if isinstance(answer, Failure):
            landing = Landing(lease.token, answer.latency_s, None, answer.kind.value)
        else:
            wait_s = retry_after_s(answer.headers.get("retry-after"), time.time())
            landing = Landing(lease.token, answer.latency_s, answer.status, None, wait_s)
        self._landings.append(landing)
        self._wake.set()

    async def _report_landings(self) -> None:
        async with self._reporting:
            landings, self._landings = self._landings, []
            if landings:
                await self._calls.landed(landings)

    async def _conclude(self, lease: Lease, work: Work, answer: Exchange | Failure, known: Known | None) -> Ending:
        if is_big(work, answer):
            # Without a mark: what such a page does, it does to another process.
            return await self._conclude_aside(lease, work, answer, known)
        self._mark.set(lease.token)
        try:
            return await conclude(work, lease, answer, known)
        except Exception as error:
            # A page that we fail to read is that page's end, not the crawl's.
            log.exception("could not read %s", lease.target.url)
            status = answer.status if isinstance(answer, Exchange) else None
            return ending.dead(lease, "unreadable", status, f"{type(error).__name__}: {error}")
        finally:
            self._mark.clear()

    async def _conclude_aside(
        self, lease: Lease, work: Work, answer: Exchange | Failure, known: Known | None
    ) -> Ending:
        try:
            return await conclude(work, lease, answer, known, self._aside)
        except Unread as error:
            return _unread(lease, answer, error)

    async def _with_sitemap(self, work: Work, answer: Exchange | Failure, end: Ending) -> Ending | None:
        """Offered part by part, before the sitemap's own lease completes: a million entries need no memory.

        None if the engine was stopped or the job's time ran out before all were, so that the sitemap is read again.
        """
        is_sitemap = end.lease.trail.callback == SITEMAP and end.completion.outcome is Outcome.DONE
        if not is_sitemap or not isinstance(answer, Exchange) or not 200 <= answer.status < 300:
            return end
        try:
            async with aclosing(self._sitemap_parts(answer.body)) as parts:
                async for part in parts:
                    for offer in sitemap_offers(work, end, part):
                        await self._calls.offer([offer])
                    await asyncio.sleep(0)
                    if self.stopping or await self._frontier.over(work.job):
                        return None
        except Unread as error:
            return _unread(end.lease, answer, error)
        return end

    async def _sitemap_parts(self, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        if is_big_sitemap(body):
            async with aclosing(self._aside.sitemap(body)) as parts:
                async for part in parts:
                    yield part
        else:
            for part in read_sitemap(body):
                yield part

    def _settled(self, endings: list[Ending]) -> None:
        for end in endings:
            self._held.discard(end.lease.token)
            self.on_ending(end)
        self._wake.set()

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(KEEP_EVERY_S)
            if self._held:
                await self._calls.extend(list(self._held))
            await self.insist(self._frontier.reap)


def _unread(lease: Lease, answer: Exchange | Failure, error: Unread) -> Ending:
    status = answer.status if isinstance(answer, Exchange) else None
    end = ending.dead(lease, error.reason, status, str(error))
    end.why = str(error)
    return end


def _raise_fault(background: list[asyncio.Task[None]]) -> None:
    for task in background:
        if task.done():
            task.result()
