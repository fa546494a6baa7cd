"""The engine: keeps as many requests travelling as it may.

    lease -> (robots) -> fetch -> landed -> extract -> store -> offer -> complete

The first half is `Travels.make`, one task per request; the second is the Settler, in batches. Everything is bounded:
fetches by `concurrency`, endings not yet stored by a multiple of it, so that a slow store slows leasing. `run` works on
the jobs it was given until they rest; `serve`, on a fleet, on whatever it is permitted to lease until it is stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from shoal.engine.aside import SECONDS, Aside
from shoal.engine.calls import Calls
from shoal.engine.chores import DRAIN_S, READING_GRACE_S, Chores
from shoal.engine.ending import Ending
from shoal.engine.heap import keep_freed
from shoal.engine.keeping import KeptOffers
from shoal.engine.mark import Mark
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.engine.permission import Permissions
from shoal.engine.refresh import Refresh
from shoal.engine.settler import Settler
from shoal.engine.travel import Travels
from shoal.engine.underway import Underway
from shoal.engine.work import Work
from shoal.engine.works import TakeUp, Works
from shoal.errors import DiskFull, Unavailable
from shoal.frontier.contract import ALL_LANES, Frontier
from shoal.model import Lane
from shoal.store.writer import Writer
from shoal.telemetry import Events

BACKLOG_PER_FETCH = 4
BACKLOG_BYTES = 32_000_000
"""Of pages read but not stored; a page with tens of thousands of links weighs in memory many times its size."""
ASIDE_BYTES = 64_000_000
"""Of big pages that wait to be read, of however many hosts."""
FREED_BYTES = 8 << 20
"""As much memory is kept for the next pages: what one of 64 KB takes, several times over."""
SLOW_AFTER_S = 5.0
SLOW_BYTES_PER_S = 10_000
MOST_SLOW = 3
"""A request that takes longer and has brought less no longer counts as in flight, up to so many times `concurrency`:
hosts that never answer, or drip, would otherwise take every place for as long as a fetch may last."""
GATHER_S = 0.003
"""While plenty is in flight, landings gather this long, so that one call serves several."""
POLL_S = 0.5
"""How soon a waiting engine looks again."""
IDLE_S = 5.0
"""How long one with nothing in flight sleeps, unless the frontier wakes it."""
SAVE_S = 10.0
"""How long one that stops for good waits for the store, after DRAIN_S for what is in flight."""

log = Events(__name__)


class Engine:
    def __init__(
        self,
        frontier: Frontier,
        writer: Writer,
        mark: Mark,
        concurrency: int,
        caller: str,
        source: TakeUp | None = None,
        reading_s: float = SECONDS,
    ) -> None:
        """With a source it is one of a fleet's: it takes jobs up as it meets them, and waits for absent servers.
        `reading_s` is the CPU time that a reader process may take for a page."""
        self._frontier = frontier
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._wake = asyncio.Event()
        self._patience = Patience(self._stopping, (Unavailable,) if source else (DiskFull,))
        self.insist = self._patience.insist
        """`await insist(write, ...)`: whatever may find the disk full is tried again until it is not."""
        self._calls = Calls(frontier, caller, self._patience)
        self._overflow = Overflow(self._calls, writer, self._patience)
        self.offer = self._overflow.offer
        """`await offer(offers)`: queues them, however little room the frontier has."""
        self._aside = Aside(reading_s, with_others=source is not None)
        self._works = Works(source)
        kept = KeptOffers(writer, self._patience)
        permissions = Permissions(frontier, writer, self._patience, shared=source is not None)
        travels = Travels(frontier, self._overflow, kept, permissions, mark, self._aside, self._patience)
        self._settler = Settler(self._calls, self._overflow, kept, writer, self._works, self._patience)
        refresh = Refresh(writer, self._works, self._patience)
        self._underway = Underway(self._calls, self._works, travels, refresh, self._settler, self._patience, self._wake)
        self._chores = Chores(frontier, self._works, self._underway, self._overflow, self._aside, self._patience)
        self._settler.on_settled = self._settled
        self._settler.more_to_come = lambda: self._is_busy
        self._lanes: Sequence[Lane] = ALL_LANES if source is None else ()
        self._leased_at = time.monotonic()
        self.ended = 0
        """Requests that ended here."""
        self.unloadable = self._underway.unloadable
        """job -> why it cannot be worked on here."""
        self.on_ending: Callable[[Ending], None] = lambda _: None
        """Called for every ending once it is stored."""

    def add(self, work: Work) -> None:
        self._works.add(work)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def in_flight(self) -> int:
        return len(self._underway) - self._settler.backlog

    @property
    def unstored(self) -> int:
        """How many have ended and wait to be stored."""
        return self._settler.backlog

    @property
    def is_resting(self) -> bool:
        """Nothing is leased, and nothing waits to be stored."""
        return not len(self._underway)

    @property
    def progressed_at(self) -> float:
        """When a lease was last asked for or ended; by the monotonic clock. Pages that other processes read are bounded
        by these: while there are such, this one waits for nothing else."""
        if self._aside.is_busy:
            return time.monotonic()
        return max(self._leased_at, self._underway.ended_at)

    @property
    def waiting_for(self) -> str | None:
        """In words, what keeps the engine from working at all, such as a full disk."""
        return self._patience.waiting_for

    def reading_notes(self) -> dict[str, str]:
        """In words, by job, of which page the reading takes long."""
        return self._aside.notes()

    def is_held(self, job: str) -> bool:
        """Whether leases of it are out here."""
        return self._works.is_held(job)

    def lane_of(self, job: str) -> Lane:
        """Of a job that something is in flight of."""
        return self._works[job].spec.lane

    def permit(self, lanes: Sequence[Lane]) -> None:
        """From now on it leases from these lanes; from none, what is in flight goes on."""
        self._lanes = lanes
        self._wake.set()

    def stop(self) -> None:
        """Lease nothing more; `run` returns when what is in flight has been saved, if it can be, `serve` soon."""
        self._stopping.set()
        self._wake.set()

    async def run(self) -> dict[str, str]:
        """Works until every job rests, or is told to stop. Says why each job rests; a stopped one is missing."""
        resting: dict[str, str] = {}

        async def until_all_rest() -> None:
            while len(resting) < len(self._works) and not self._stopping.is_set():
                if not await self._turn():
                    await self._note_resting(resting)
                    if len(resting) < len(self._works):
                        await self._idle()

        chores = self._chores
        beside = [chores.keep_leases(), chores.end_in_time(), chores.reap(), chores.bring_back()]
        await self._work(until_all_rest(), beside)
        return resting

    async def serve(self) -> None:
        """Works on whatever it is permitted to; when stopped, gives back what does not end within DRAIN_S."""

        async def until_stopped() -> None:
            while not self._stopping.is_set():
                self._wake.clear()
                if not self._lanes or not await self._turn():
                    await self._idle()

        await self._work(until_stopped(), [self._chores.keep_leases(), self._chores.end_in_time()], DRAIN_S)

    async def ready_in(self, lanes: Sequence[Lane]) -> float | None:
        """Seconds until something of these lanes may be leased."""
        return await self.insist(self._frontier.next_ready_in, lanes)

    async def retire(self, idle_s: float) -> None:
        """Puts away the jobs that nothing was leased of for so long."""
        await self._works.retire(idle_s)

    async def _work(
        self, turns: Coroutine[Any, Any, None], beside: list[Coroutine[Any, Any, None]], drain_s: float | None = None
    ) -> None:
        """Takes these turns, with the settler and others beside them, and sees to the end of each."""
        keep_freed(FREED_BYTES)
        leasing = asyncio.create_task(turns)
        background = [asyncio.create_task(other) for other in (self._settler.run(), *beside)]
        try:
            await asyncio.wait([leasing, *background], return_when=asyncio.FIRST_COMPLETED)
            _raise_fault([leasing, *background])
            await self._finish(background, drain_s)
            if drain_s is not None:
                await self._underway.give_back(self._underway.jobs)
                await self._finish(background, SAVE_S)
            await self._underway.report_landings()
        except self._patience.waits_out as reason:
            if not self.stopping:
                raise
            # What could not be saved is still leased, and returns later.
            log.warning("stopped_unsaved", f"stopped, and what was in flight is fetched again: {reason}")
        finally:
            self._underway.cancel()
            for task in (leasing, *background):
                task.cancel()
            await asyncio.gather(leasing, *background, *self._underway.tasks, return_exceptions=True)
            self._aside.close()

    async def _finish(self, background: list[asyncio.Task[None]], within_s: float | None) -> None:
        """Waits for what is in flight, for so long."""
        deadline = None if within_s is None else time.monotonic() + within_s
        while self._underway.tasks or self._settler.backlog:
            _raise_fault(background)
            if self.stopping:
                self._aside.give_up(READING_GRACE_S)
            if deadline is not None and time.monotonic() > deadline:
                return
            moving = [*self._underway.tasks, *background]
            await asyncio.wait(moving, timeout=0.02, return_when=asyncio.FIRST_COMPLETED)

    @property
    def _is_busy(self) -> bool:
        """Plenty is in flight: whatever waits a moment will not wait alone."""
        return self.in_flight > self._concurrency // 2

    @property
    def _room(self) -> int:
        """How many more requests may be leased."""
        if self._settler.backlog_bytes > BACKLOG_BYTES or self._aside.held_bytes > ASIDE_BYTES or self.waiting_for:
            return 0
        fetchers = {work.fetcher for work in self._works}
        if any(fetcher.is_full for fetcher in fetchers):
            return 0
        slow = sum(fetcher.slow(SLOW_AFTER_S, SLOW_BYTES_PER_S) for fetcher in fetchers)
        # Pages that are read aside, or wait for it, need no connection either.
        in_flight = self.in_flight - min(slow + len(self._aside), MOST_SLOW * self._concurrency)
        unsettled = BACKLOG_PER_FETCH * self._concurrency - self._settler.backlog
        return max(0, min(self._concurrency - in_flight, unsettled))

    async def _turn(self) -> bool:
        """One call for leases; False if there were none."""
        self._wake.clear()
        await self._underway.report_landings()
        room = self._room
        if not room:
            return False
        asked_at = time.monotonic()
        leases = await self._calls.lease(room, self._lanes)
        self._leased_at = time.monotonic()
        await self._underway.add(leases, asked_at)
        if leases and self._is_busy:
            await asyncio.sleep(GATHER_S)
        return bool(leases)

    async def _note_resting(self, resting: dict[str, str]) -> None:
        for work in self._works:
            if work.job in resting:
                continue
            reason = await self._frontier.rest(work.job)
            if reason == "empty" and await self._overflow.bring_back(work.job):
                continue
            if reason is not None and reason != "paused":
                resting[work.job] = reason

    async def _idle(self) -> None:
        """Until something here ends, or something may be leased."""
        wait_s: float | None = None
        if self._lanes and self._room:
            wait_s = await self.ready_in(self._lanes)
            if self.is_resting and (wait_s is None or wait_s > POLL_S):
                return await self._sleep()
        try:
            async with asyncio.timeout(POLL_S if wait_s is None else min(wait_s, POLL_S)):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _sleep(self) -> None:
        """Only with nothing in flight: a busy engine would be woken by every offer of others."""
        # A job with a time limit ends by it also while it waits.
        timed = any(work.spec.limits.seconds is not None for work in self._works)
        sleeping = asyncio.create_task(self._frontier.wait(POLL_S if timed else IDLE_S, self._lanes))
        waking = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait([sleeping, waking], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()
            await asyncio.gather(sleeping, waking, return_exceptions=True)

    def _settled(self, endings: list[Ending]) -> None:
        self._underway.let_go([end.lease.token for end in endings])
        self.ended += len(endings)
        for end in endings:
            self.on_ending(end)
        self._wake.set()


def _raise_fault(background: list[asyncio.Task[None]]) -> None:
    for task in background:
        if task.done():
            task.result()
