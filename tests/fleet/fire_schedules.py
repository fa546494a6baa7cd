"""What tend does with schedules in a round."""

from __future__ import annotations

import asyncio

from shoal.fleet.schedules import Schedules
from shoal.settings import Settings
from shoal.store.async_store import AsyncStore
from shoal.store.store import Store


def fire(store: Store, settings: Settings, times: int = 1) -> None:
    """As so many tends at once."""

    async def run() -> None:
        async_store = AsyncStore(store)
        try:
            await asyncio.gather(*(Schedules(settings, async_store).fire() for _ in range(times)))
        finally:
            async_store.close()

    asyncio.run(run())
