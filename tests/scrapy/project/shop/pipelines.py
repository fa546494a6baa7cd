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
