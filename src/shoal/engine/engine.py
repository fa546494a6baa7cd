"""The engine: keeps as many requests travelling as it may, and ends when its jobs have nothing more to lease.

    lease -> (robots) -> fetch -> landed -> extract -> store -> offer -> complete

The first half is `Travels.make`, one task per request; the second is the Settler, in batches. Everything is bounded:
fetches by `concurrency`, endings not yet stored by a multiple of it, so that a slow store slows leasing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from shoal.engine.aside import Aside
from shoal.engine.calls import Calls
from shoal.engine.ending import Ending
from shoal.engine.mark import Mark
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.engine.permission import Permissions
from shoal.engine.refresh import Known, Refresh
from shoal.engine.settler import Settler
from shoal.engine.travel import Back, Travels
from shoal.engine.work import Work
from shoal.errors import DiskFull
from shoal.frontier.contract import Frontier
from shoal.model import Landing, Lease
from shoal.store.writer import Writer

BACKLOG_PER_FETCH = 4
BACKLOG_BYTES = 32_000_000
"""Of pages read but not stored; a page with tens of thousands of links weighs in memory many times its size."""
ASIDE_BYTES = 256_000_000
"""Of big pages that wait to be read, of however many hosts."""
SILENT_S = 5.0
MOST_SILENT = 3
"""A request that got no byte for so long no longer counts as in flight, up to so many times `concurrency`: hosts that
accept and never answer would otherwise take every place for as long as a fetch may last."""
GATHER_S = 0.003
"""While plenty is in flight, landings gather this long, so that one call serves several."""
POLL_S = 0.5
"""How soon an idle engine sees what another terminal wrote."""
KEEP_EVERY_S = 20.0
BRING_BACK_EVERY_S = 1.0

log = logging.getLogger(__name__)


class Engine:
    def __init__(self, frontier: Frontier, writer: Writer, mark: Mark, concurrency: int, caller: str) -> None:
        self._frontier = frontier
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._patience = Patience(self._stopping)
        self.insist = self._patience.insist
        """`await insist(write, ...)`: whatever may find the disk full is tried again until it is not."""
        self._calls = Calls(frontier, caller, self._patience)
        self._overflow = Overflow(self._calls, writer, self._patience)
        self.offer = self._overflow.offer
        """`await offer(offers)`: queues them, however little room the frontier has."""
        self._aside = Aside()
        permissions = Permissions(frontier, writer, self._patience)
        self._travels = Travels(frontier, self._overflow, permissions, mark, self._aside, self._land, self._stopping)
        self._works: dict[str, Work] = {}
        self._refresh = Refresh(writer, self._works)
        self._settler = Settler(
            self._calls, self._overflow, writer, self._works, self._settled, self._report_landings, self._patience
        )
        self._fetching: set[asyncio.Task[None]] = set()
        self._held: set[int] = set()
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()
        self._wake = asyncio.Event()
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

        async def until_all_rest() -> None:
            while len(resting) < len(self._works) and not self._stopping.is_set():
                if not await self._turn():
                    await self._note_resting(resting)
                    if len(resting) < len(self._works):
                        await self._idle()

        await self._work(until_all_rest())
        return resting

    async def _work(self, turns: Coroutine[Any, Any, None]) -> None:
        """Takes these turns, with the settler and the keeping of leases beside them, and sees to the end of each."""
        leasing = asyncio.create_task(turns)
        background = [
            asyncio.create_task(beside) for beside in (self._settler.run(), self._keep_leases(), self._bring_back())
        ]
        try:
            await asyncio.wait([leasing, *background], return_when=asyncio.FIRST_COMPLETED)
            _raise_fault([leasing, *background])
            while self._fetching or self._settler.backlog:
                _raise_fault(background)
                await asyncio.wait([*self._fetching, *background], timeout=0.02, return_when=asyncio.FIRST_COMPLETED)
            await self._report_landings()
        except DiskFull:
            # Only when stopping. What could not be saved is still leased, and returns when the job is resumed.
            log.warning("stopped with a full disk: what was in flight is fetched again")
        finally:
            for task in (leasing, *background, *self._fetching):
                task.cancel()
            await asyncio.gather(leasing, *background, *self._fetching, return_exceptions=True)
            self._aside.close()

    @property
    def _room(self) -> int:
        """How many more requests may be leased."""
        if self._settler.backlog_bytes > BACKLOG_BYTES or self._aside.held_bytes > ASIDE_BYTES or self.waiting_for:
            return 0
        silent = sum(fetcher.silent(SILENT_S) for fetcher in {work.fetcher for work in self._works.values()})
        counted = len(self._fetching) - min(silent, MOST_SILENT * self._concurrency)
        in_flight = self._concurrency - counted
        unsettled = BACKLOG_PER_FETCH * self._concurrency - self._settler.backlog
        return max(0, min(in_flight, unsettled))

    async def _turn(self) -> bool:
        """One call for leases; False if there were none."""
        self._wake.clear()
        await self._report_landings()
        leases = await self._calls.lease(room) if (room := self._room) else []
        known = await self._refresh.known(leases)
        for lease in leases:
            self._start(lease, known.get(lease.token))
        if leases and len(self._fetching) > self._concurrency // 2:
            await asyncio.sleep(GATHER_S)
        return bool(leases)

    async def _note_resting(self, resting: dict[str, str]) -> None:
        for job in self._works.keys() - resting.keys():
            reason = await self._frontier.rest(job)
            if reason == "empty" and await self._overflow.bring_back(job):
                continue
            if reason is not None and reason != "paused":
                resting[job] = reason

    async def _idle(self) -> None:
        wait_s = await self._frontier.next_ready_in() if self._room else None
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
        end = await self._travels.make(lease, self._works[lease.job], known)
        if isinstance(end, Back):
            await self._calls.release([lease.token], end.wait_s)
            self._held.discard(lease.token)
        else:
            self._settler.put(end)

    def _land(self, landing: Landing) -> None:
        self._landings.append(landing)
        self._wake.set()

    async def _report_landings(self) -> None:
        async with self._reporting:
            landings, self._landings = self._landings, []
            if landings:
                await self._calls.landed(landings)

    def _settled(self, endings: list[Ending]) -> None:
        for end in endings:
            self._held.discard(end.lease.token)
            self.on_ending(end)
        self._wake.set()

    async def _bring_back(self) -> None:
        while True:
            await asyncio.sleep(BRING_BACK_EVERY_S)
            for job in list(self._works):
                await self._overflow.bring_back(job)

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(KEEP_EVERY_S)
            if self._held:
                await self._calls.extend(list(self._held))
            await self.insist(self._frontier.reap)


def _raise_fault(background: list[asyncio.Task[None]]) -> None:
    for task in background:
        if task.done():
            task.result()
