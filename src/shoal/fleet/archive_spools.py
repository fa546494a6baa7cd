"""Moves spooled segments of a worker to the archive: full ones soon, and all of this process when it ends."""

from __future__ import annotations

import asyncio

from shoal.errors import Unavailable
from shoal.fleet.outage_log import OutageLog
from shoal.store.archive.spools import Spools
from shoal.store.async_store import AsyncStore
from shoal.telemetry import EventLogger

EVERY_S = 5.0

log = EventLogger(__name__)


class SpoolArchiver:
    def __init__(self, async_store: AsyncStore, spools: Spools) -> None:
        self._async_store = async_store
        self._spools = spools
        self._outages = OutageLog(log)

    async def run(self) -> None:
        """Moves full segments, and segments of dead processes, to the archive. Retries failures and logs each once."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self._async_store.run(self._spools.adopt)
                await self._async_store.run(self._spools.seal_due)
                fault = self._spools.note
            except Unavailable as reason:
                fault = f"segments wait in the spool: {reason}"
            if fault is None:
                self._outages.over()
            else:
                self._outages.waits(fault)

    async def seal_all(self) -> None:
        try:
            await self._async_store.run(self._spools.seal_all)
        except Unavailable as error:
            text = f"segments stay in the spool until another worker on this machine archives them: {error}"
            log.warning("segments_left", text)
