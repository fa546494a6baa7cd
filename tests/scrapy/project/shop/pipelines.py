from __future__ import annotations

import asyncio
from typing import Any


class Slow:
    """A pipeline that waits for something, as many do."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        await asyncio.sleep(0.01)
        return item


class Busy:
    """Notes with each item how many are in it at that time."""

    now = 0

    async def process_item(self, item: Any) -> Any:
        self.now += 1
        busy = self.now
        await asyncio.sleep(0.002)
        self.now -= 1
        return {**item, "busy": busy}


class Together:
    """Lets no item pass before thirty are here."""

    def __init__(self) -> None:
        self._found = 0
        self._all_here = asyncio.Event()

    async def process_item(self, item: Any) -> Any:
        self._found += 1
        if self._found == 30:
            self._all_here.set()
        await asyncio.wait_for(self._all_here.wait(), 60)
        return item
