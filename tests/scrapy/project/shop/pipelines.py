from __future__ import annotations

import asyncio
from typing import Any


class Slow:
    """A pipeline that waits for something, as many do."""

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        await asyncio.sleep(0.01)
        return item
