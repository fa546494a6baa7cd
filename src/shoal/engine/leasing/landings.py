"""Collects landings (hosts whose answer has arrived), so that one call reports several to the frontier."""

from __future__ import annotations

import asyncio

from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.model import Landing


class Landings:
    def __init__(self, frontier_client: FrontierClient, wake: asyncio.Event) -> None:
        """Sets `wake` with every landing: its host may have a free slot."""
        self._frontier_client = frontier_client
        self._wake = wake
        self._landings: list[Landing] = []
        self._reporting = asyncio.Lock()

    def add(self, landing: Landing) -> None:
        self._landings.append(landing)
        self._wake.set()

    async def report(self) -> None:
        async with self._reporting:
            landings, self._landings = self._landings, []
            if landings:
                await self._frontier_client.landed(landings)
