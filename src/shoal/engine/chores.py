"""What goes on beside the engine's turns: leases are kept, lost ones come back, and a job ends when its time is up."""

from __future__ import annotations

import asyncio
import time

from shoal.engine.aside import Aside
from shoal.engine.overflow import Overflow
from shoal.engine.patience import Patience
from shoal.engine.underway import Underway
from shoal.engine.work import Work
from shoal.engine.works import Works
from shoal.errors import FrontierLost
from shoal.frontier.contract import Frontier

KEEPS_PER_LEASE = 3
"""How often a lease is extended before it would expire."""
BRING_BACK_EVERY_S = 1.0
TIME_EVERY_S = 0.5
DRAIN_S = 10.0
"""How long a job whose time is up waits for what is in flight; an engine that stops for good does no longer."""
READING_GRACE_S = 1.0
"""How long pages that are being read may take when their job's time is up, or the engine stops."""


class Chores:
    """Each goes on until it is cancelled."""

    def __init__(
        self,
        frontier: Frontier,
        works: Works,
        underway: Underway,
        overflow: Overflow,
        aside: Aside,
        patience: Patience,
    ) -> None:
        self._frontier = frontier
        self._works = works
        self._underway = underway
        self._overflow = overflow
        self._aside = aside
        self._insist = patience.insist

    async def keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._frontier.lease_s / KEEPS_PER_LEASE)
            await self._underway.extend()

    async def reap(self) -> None:
        while True:
            await asyncio.sleep(self._frontier.lease_s / KEEPS_PER_LEASE)
            await self._insist(self._frontier.reap)

    async def bring_back(self) -> None:
        """What the frontier had no room for."""
        while True:
            await asyncio.sleep(BRING_BACK_EVERY_S)
            for work in list(self._works):
                await self._overflow.bring_back(work.job)

    async def end_in_time(self) -> None:
        """What takes longer than DRAIN_S after its job's time goes back to the frontier; what is read, sooner."""
        since: dict[str, float] = {}
        while True:
            await asyncio.sleep(TIME_EVERY_S)
            old = [work.job for work in self._works if _is_old(work) and self._works.is_held(work.job)]
            up = [job for job in old if await self._time_is_up(job)]
            since = {job: since.get(job, time.monotonic()) for job in up}
            for job in up:
                self._aside.give_up(READING_GRACE_S, job)
            if late := [job for job in up if time.monotonic() - since[job] >= DRAIN_S]:
                await self._underway.give_back(late)

    async def _time_is_up(self, job: str) -> bool:
        try:
            return await self._insist(self._frontier.over, job) == "seconds"
        except FrontierLost:
            # Whoever restores it knows its time.
            return False


def _is_old(work: Work) -> bool:
    """Whether its time may be up; the frontier knows for how long it was paused."""
    seconds = work.spec.limits.seconds
    return seconds is not None and work.made_at + seconds <= time.time()
