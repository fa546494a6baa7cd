"""What is leased and has not ended: its tasks, and the one place where leases are held, extended and given back.

A lease of a job that is not known here, or was changed since, waits beside the others until the job is taken up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Coroutine, Sequence
from typing import Any

from shoal.engine.calls import Calls
from shoal.engine.patience import Patience
from shoal.engine.refresh import Known, Refresh
from shoal.engine.settler import Settler
from shoal.engine.starts import Given
from shoal.engine.travel import Back, Travels
from shoal.engine.works import Works
from shoal.errors import ShoalError
from shoal.model import Landing, Lease

UNLOADABLE_WAIT_S = 2.0
"""How long the hosts of a job that cannot be worked on here are left to other workers."""
MOST_UNLOADABLE = 1_000
"""Such jobs remembered, those tried last; of others it is not told why they wait."""


class Underway:
    def __init__(
        self,
        calls: Calls,
        works: Works,
        travels: Travels,
        refresh: Refresh,
        settler: Settler,
        patience: Patience,
        wake: asyncio.Event,
    ) -> None:
        self._calls = calls
        self._works = works
        self._travels = travels
        self._refresh = refresh
        self._settler = settler
        self._patience = patience
        self._wake = wake
        self._held: dict[int, str] = {}
        """token -> job"""
        self.tasks: dict[asyncio.Task[None], str] = {}
        """Of which job each is."""
        self.ended_at = time.monotonic()
        self.unloadable: dict[str, str] = {}
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()
        travels.on_landing = self._land
        settler.report_landings = self.report_landings

    def __len__(self) -> int:
        """With those that wait to be stored."""
        return len(self._held)

    @property
    def jobs(self) -> set[str]:
        return set(self._held.values())

    async def add(self, leases: Sequence[Lease], asked_at: float) -> None:
        """`asked_at` is when the frontier was asked for them."""
        given = Given(asked_at, time.monotonic())
        self._held.update((lease.token, lease.job) for lease in leases)
        self._works.hold(leases)
        current = [lease for lease in leases if self._works.is_current(lease)]
        if len(current) < len(leases):
            others = [lease for lease in leases if not self._works.is_current(lease)]
            for job in {lease.job for lease in others}:
                # Beside the turns: it may take a while, and other jobs must not wait for it.
                self._start(job, self._begin_when_current([lease for lease in others if lease.job == job], given))
        await self._begin(current, given)

    def let_go(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._works.let_go(self._held.pop(token))
        self.ended_at = time.monotonic()

    async def extend(self) -> None:
        if self._held:
            await self._calls.extend(list(self._held))

    async def report_landings(self) -> None:
        async with self._reporting:
            landings, self._landings = self._landings, []
            if landings:
                await self._calls.landed(landings)

    async def give_back(self, jobs: Collection[str]) -> None:
        """What is still being fetched for these goes back to the frontier."""
        tasks = [task for task, job in self.tasks.items() if job in jobs]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.report_landings()
        ended = self._settler.tokens
        if begun := [token for token, job in self._held.items() if job in jobs and token not in ended]:
            await self._release(begun, 0.0)

    def cancel(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def _begin(self, leases: Sequence[Lease], given: Given) -> None:
        known = await self._refresh.known(leases)
        for lease in leases:
            self._start(lease.job, self._travel(lease, given, known.get(lease.token)))

    async def _begin_when_current(self, leases: Sequence[Lease], given: Given) -> None:
        job = leases[0].job
        newest = max(leases, key=lambda lease: lease.edition)
        try:
            await self._patience.insist(self._works.make_current, newest)
        except self._patience.waits_out:
            raise
        except ShoalError as error:
            self._note_unloadable(job, str(error))
            await self._release([lease.token for lease in leases], UNLOADABLE_WAIT_S)
        else:
            self.unloadable.pop(job, None)
            await self._begin_in_time(leases, given)

    async def _begin_in_time(self, leases: Sequence[Lease], given: Given) -> None:
        """To take a job up takes a while. What should have begun meanwhile is planned anew: begun now, it would come
        on top of what another process begins by the plan."""
        late = [lease.token for lease in leases if lease.gap_s and given.late_s(lease) > lease.gap_s]
        if late:
            await self._release(late, 0.0)
        await self._begin([lease for lease in leases if lease.token not in late], given)

    def _note_unloadable(self, job: str, why: str) -> None:
        self.unloadable.pop(job, None)
        self.unloadable[job] = why
        if len(self.unloadable) > MOST_UNLOADABLE:
            del self.unloadable[next(iter(self.unloadable))]

    async def _travel(self, lease: Lease, given: Given, known: Known | None) -> None:
        end = await self._travels.make(lease, given, self._works[lease.job], known)
        if isinstance(end, Back):
            await self._release([lease.token], end.wait_s)
        else:
            self._settler.put(end)

    async def _release(self, tokens: Sequence[int], wait_s: float) -> None:
        await self._calls.release(tokens, wait_s)
        self.let_go(tokens)

    def _land(self, landing: Landing) -> None:
        self._landings.append(landing)
        self._wake.set()

    def _start(self, job: str, way: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(way)
        self.tasks[task] = job
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        del self.tasks[task]
        self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            # Nothing a page or a host does raises here: it is ours, and the crawl must not go on without it.
            self._settler.fail(task.exception())
