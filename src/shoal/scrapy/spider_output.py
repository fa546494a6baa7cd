"""Takes what a callback yields: requests go to the scheduler at once, and items through the pipelines, several at once.

Scrapy starts CONCURRENT_ITEMS tasks for each response, and sends each request through a queue to one of them. With many
links and few items that is a sixth of the cost of a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from scrapy import Request
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import aiter_errback

PAUSE_EVERY = 200
"""A callback that yields so many outputs lets the rest of the process work meanwhile."""
Handle = Callable[[Any, Any, Any], Awaitable[None]]


def output_handler(scraper: Any, engine: Any) -> Handle:
    """What Scrapy calls with the output of a callback, its request and its response."""
    handle: Handle = scraper.handle_spider_output_async

    async def handle_output(result: Any, request: Any, response: Any) -> None:
        if not (_in_asyncio() and hasattr(scraper, "start_itemproc_async")):
            # Another reactor, or Scrapy 2.13.
            return await handle(result, request, response)
        output = aiter_errback(as_async_generator(result), scraper.handle_spider_error, request, response)
        await _take(output, scraper, engine, response)

    return handle_output


def _in_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _take(output: AsyncIterable[Any], scraper: Any, engine: Any, response: Any) -> None:
    items: set[asyncio.Task[None]] = set()
    taken = 0
    async for each in output:
        taken += 1
        if isinstance(each, Request):
            engine.crawl(each)
        elif each is not None:
            items.add(asyncio.create_task(scraper.start_itemproc_async(each, response=response)))
            items.difference_update([task for task in items if task.done()])
            if len(items) >= scraper.concurrent_items:
                _, items = await asyncio.wait(items, return_when=asyncio.FIRST_COMPLETED)
        if taken % PAUSE_EVERY == 0:
            await asyncio.sleep(0)
    if items:
        await asyncio.wait(items)
