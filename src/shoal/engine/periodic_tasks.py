"""What goes on beside the engine's turns: leases are kept, lost ones come back, and a job ends when its time is up."""

from __future__ import annotations

import asyncio
import time

from shoal.engine.active_job import ActiveJob
from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.readers.pool import ReaderPool
from shoal.errors import FrontierLost
from shoal.frontier.contract import Frontier

EXTENDS_PER_LEASE = 3
"""How often to extend a lease before it would expire."""
OFFER_AGAIN_EVERY_S = 1.0
TIME_EVERY_S = 0.5
DRAIN_S = 10.0
"""How long a job whose time is up waits for requests in flight. An engine that stops for good waits as long."""
READING_GRACE_S = 1.0
"""How much longer the reading of a page may take when its job's time is up, or the engine stops."""


class PeriodicTasks:
    """Each task runs until it is cancelled."""

    def __init__(
        self,
        frontier: Frontier,
        active_jobs: ActiveJobs,
        held: HeldLeases,
        overflow: Overflow,
        readers: ReaderPool,
        outages: OutageRetry,
    ) -> None:
        self._frontier = frontier
        self._active_jobs = active_jobs
        self._held_leases = held
        self._overflow = overflow
        self._readers = readers
        self._keep_trying = outages.keep_trying

    async def extend_leases(self) -> None:
        while True:
            await asyncio.sleep(self._frontier.lease_s / EXTENDS_PER_LEASE)
            await self._held_leases.extend()

    async def reap(self) -> None:
        while True:
            await asyncio.sleep(self._frontier.lease_s / EXTENDS_PER_LEASE)
            await self._keep_trying(self._frontier.reap)

    async def offer_again(self) -> None:
        """Offers the links again that the frontier had no room for."""
        while True:
            await asyncio.sleep(OFFER_AGAIN_EVERY_S)
            for active_job in list(self._active_jobs):
                if self._overflow.may_have(active_job.id):
                    await self._overflow.offer_again(active_job.id)

    async def end_at_time_limits(self) -> None:
        """Returns leases that take longer than DRAIN_S after the job's time is up; pages being read, sooner."""
        since: dict[str, float] = {}
        while True:
            await asyncio.sleep(TIME_EVERY_S)
            old = [
                active_job.id
                for active_job in self._active_jobs
                if _is_old(active_job) and self._active_jobs.is_held(active_job.id)
            ]
            up = [job for job in old if await self._time_is_up(job)]
            since = {job: since.get(job, time.monotonic()) for job in up}
            for job in up:
                self._readers.abandon(READING_GRACE_S, job)
            if late := [job for job in up if time.monotonic() - since[job] >= DRAIN_S]:
                await self._held_leases.return_leases(late)

    async def _time_is_up(self, job: str) -> bool:
        try:
            return await self._keep_trying(self._frontier.end_reason, job) == "seconds"
        except FrontierLost:
            # The job is being restored, and its time limit with it.
            return False


def _is_old(active_job: ActiveJob) -> bool:
    """Whether its time may be up. Only the frontier knows how long it was paused."""
    seconds = active_job.spec.limits.seconds
    return seconds is not None and active_job.made_at + seconds <= time.time()
