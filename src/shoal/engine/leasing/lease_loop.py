"""Leases requests, turn by turn, as many as there is room for, and waits when there is nothing to lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.host_feedback import HostFeedback
from shoal.engine.leasing.lease_capacity import LeaseCapacity
from shoal.engine.leasing.leasing_wake import LeasingWake
from shoal.engine.outage_retry import OutageRetry
from shoal.frontier.contract import HORIZON_S, Frontier
from shoal.model import Lane

GATHER_S = 0.003
"""While many requests are in flight, landings are collected this long, so that one call reports several."""
POLL_S = 0.5
"""How often a waiting engine checks again."""
IDLE_S = 5.0
"""How long an engine with nothing in flight sleeps, unless the frontier wakes it."""
LEAD_S = 0.03
"""How long before its start a request is leased. A process that is late by less than this starts it as planned. The
sooner, the fewer requests come with each lease call, because their hosts have no free slot yet."""


class LeaseLoop:
    def __init__(
        self,
        frontier: Frontier,
        frontier_client: FrontierClient,
        active_jobs: ActiveJobs,
        held_leases: HeldLeases,
        host_feedback: HostFeedback,
        capacity: LeaseCapacity,
        outages: OutageRetry,
        wake: LeasingWake,
    ) -> None:
        self._frontier = frontier
        self._frontier_client = frontier_client
        self._active_jobs = active_jobs
        self._held_leases = held_leases
        self._host_feedback = host_feedback
        self._capacity = capacity
        self._keep_trying = outages.keep_trying
        self._wake = wake
        self._lanes: Sequence[Lane] = ()
        self.leased_at = time.monotonic()
        """When a lease was last requested."""
        self.is_alone = False
        """No other process leases from the hosts of its jobs. Then it leases as far ahead as the frontier allows,
        several requests with one call. Otherwise it would always come before the others."""
        self._ready_in_s: float | None = None
        """Seconds until something may be leased, as of the last turn. None: only news can change that."""

    def permit(self, lanes: Sequence[Lane]) -> None:
        """Leases from these lanes from now on. Requests in flight go on in any case."""
        self._lanes = lanes
        self._wake.now()

    async def turn(self) -> bool:
        """Leases what may start soon. Returns False if there was nothing to lease.

        It asks first when that is: a lease call that finds nothing costs several times as much. While many requests are
        in flight, most calls find something.
        """
        self._wake.clear()
        await self._host_feedback.send()
        room = self._capacity.requests
        self._wake.has_room = room > 0
        self._ready_in_s = None
        if not room or not self._lanes:
            return False
        if not self._held_leases.is_busy and not await self._is_ready_within(self._lead_s):
            return False
        asked_at = time.monotonic()
        leases = await self._frontier_client.lease(room, self._lanes, self._capacity.rendered)
        self.leased_at = time.monotonic()
        await self._held_leases.add(leases, asked_at)
        if leases and self._held_leases.is_busy:
            await asyncio.sleep(GATHER_S)
        elif leases and len(leases) < room:
            # Seldom: this was all.
            return await self._is_ready_within(self._lead_s)
        elif not leases:
            await self._is_ready_within(0.0)
        return bool(leases)

    async def wait(self) -> None:
        """Waits until something here ends, or something may be leased."""
        wait_s = POLL_S if self._ready_in_s is None else min(self._ready_in_s, POLL_S)
        if wait_s == POLL_S and self._lanes and not len(self._held_leases) and self._wake.has_room:
            await self._sleep()
        else:
            await self._wake.wait(wait_s)

    async def ready_in(self, lanes: Sequence[Lane]) -> float | None:
        """Seconds until a request of these lanes may be leased."""

        async def ready_in() -> float | None:
            return await self._frontier.next_ready_in(lanes, browser=self._capacity.rendered > 0)

        return await self._keep_trying(ready_in)

    @property
    def _lead_s(self) -> float:
        """How long before its start a request may be leased. While another one waits for its start, the call can wait
        too, and then serves several."""
        return HORIZON_S if self.is_alone and not self._held_leases.wait_for_start else LEAD_S

    async def _is_ready_within(self, seconds: float) -> bool:
        ready_in_s = await self.ready_in(self._lanes)
        self._ready_in_s = None if ready_in_s is None else max(0.0, ready_in_s - seconds)
        return ready_in_s is not None and ready_in_s <= seconds

    async def _sleep(self) -> None:
        """Only with nothing in flight: otherwise the offers of other workers would wake it all the time."""
        # A job with a time limit also ends while it waits.
        timed = any(active_job.spec.limits.seconds is not None for active_job in self._active_jobs)
        sleeping = asyncio.create_task(
            self._frontier.wait(POLL_S if timed else IDLE_S, self._lanes, browser=self._capacity.rendered > 0)
        )
        waking = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait([sleeping, waking], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()
            await asyncio.gather(sleeping, waking, return_exceptions=True)
