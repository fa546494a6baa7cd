"""Reports landings (hosts whose answer has arrived) to the frontier, several with one call."""

from __future__ import annotations

import asyncio

from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.leasing_wake import LATER_S, SOON_S, LeasingWake
from shoal.model import Landing


class LandingReporter:
    def __init__(self, frontier_client: FrontierClient, wake: LeasingWake) -> None:
        """Wakes with every landing: its host may have a free slot."""
        self._frontier_client = frontier_client
        self._wake = wake
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()

    def add(self, landing: Landing, gap_s: float = 0.0) -> None:
        """Because of the gap between the host's starts, the slot is not needed at once. So the landing is usually
        reported together with the end of its lease."""
        self._landings.append(landing)
        if gap_s < SOON_S:
            self._wake.now()
        else:
            self._wake.later(min(LATER_S, max(SOON_S, gap_s - landing.latency_s - landing.late_s)))

    def take(self) -> list[Landing]:
        """For a caller that reports them itself."""
        landings, self._landings = self._landings, []
        return landings

    async def report(self) -> None:
        async with self._reporting:
            if landings := self.take():
                await self._frontier_client.landed(landings)
