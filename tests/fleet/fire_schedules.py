"""What tend does with schedules in a round."""

from __future__ import annotations

import asyncio

from shoal.fleet.schedules import Schedules
from shoal.settings import Settings
from shoal.store.store import Store
from shoal.store.writer import Writer


def fire(store: Store, settings: Settings, times: int = 1) -> None:
    """As so many tends at once."""

    async def run() -> None:
        writer = Writer(store)
        try:
            await asyncio.gather(*(Schedules(settings, writer).fire() for _ in range(times)))
        finally:
            writer.close()

    asyncio.run(run())
