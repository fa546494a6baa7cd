"""The crawl in Crawlee for Python, in memory: `python -P crawlee_peer.py URL PAGES`, in an environment that has it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from crawlee import ConcurrencySettings  # type: ignore[import-not-found]
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext  # type: ignore[import-not-found]
from crawlee.storage_clients import MemoryStorageClient  # type: ignore[import-not-found]


async def crawl(url: str, pages: int) -> int:
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=64, desired_concurrency=64, max_concurrency=64),
        max_requests_per_crawl=pages,
        respect_robots_txt_file=False,
        configure_logging=False,
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def page(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data(
            {"url": context.request.url, "title": title, "status": context.http_response.status_code}
        )
        await context.enqueue_links(strategy="all")

    await crawler.run([url])
    return int((await crawler.get_data()).count)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    crawled = asyncio.run(crawl(sys.argv[1], int(sys.argv[2])))
    print(json.dumps({"type": "summary", "pages": crawled}))
