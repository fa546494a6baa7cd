"""Reports landings (hosts whose answer has arrived) to the frontier, several with one call."""

from __future__ import annotations

import asyncio

from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.leasing_wake import LATER_S, LeasingWake
from shoal.model import Landing


class LandingReporter:
    def __init__(self, frontier_client: FrontierClient, wake: LeasingWake) -> None:
        """Wakes with every landing: its host may have a free slot."""
        self._frontier_client = frontier_client
        self._wake = wake
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()

    def add(self, landing: Landing, gap_s: float = 0.0) -> None:
        """If the host's next start is not due within LATER_S, because of its gap, the slot is not needed at once. Then
        the landing is usually reported together with the end of its lease."""
        self._landings.append(landing)
        if landing.latency_s + landing.late_s + LATER_S < gap_s:
            self._wake.later()
        else:
            self._wake.now()

    async def report(self) -> None:
        async with self._reporting:
            landings, self._landings = self._landings, []
            if landings:
                await self._frontier_client.landed(landings)
