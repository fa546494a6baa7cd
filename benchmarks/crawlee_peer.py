"""The crawl in Crawlee for Python: `python -P crawlee_peer.py links|kept URL PAGES`, in an environment that has it.

`links` keeps all in memory; `kept` uses Crawlee's own storage on disk, with text and links of a page.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from crawlee import ConcurrencySettings  # type: ignore[import-not-found]
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext  # type: ignore[import-not-found]
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient  # type: ignore[import-not-found]


async def crawl(kept: bool, url: str, pages: int) -> int:
    crawler = ParselCrawler(
        storage_client=FileSystemStorageClient() if kept else MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=64, desired_concurrency=64, max_concurrency=64),
        max_requests_per_crawl=pages,
        respect_robots_txt_file=False,
        configure_logging=False,
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def page(context: ParselCrawlingContext) -> None:
        found: dict[str, Any] = {
            "url": context.request.url,
            "title": context.selector.css("title::text").get(),
            "status": context.http_response.status_code,
        }
        if kept:
            links = await context.extract_links(strategy="all")
            found["text"] = context.selector.xpath("normalize-space(//body)").get()
            found["links"] = [link.url for link in links]
            await context.push_data(found)
            await context.add_requests(links)
        else:
            await context.push_data(found)
            await context.enqueue_links(strategy="all")

    await crawler.run([url])
    return int((await crawler.get_data()).count)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    crawled = asyncio.run(crawl(sys.argv[1] == "kept", sys.argv[2], int(sys.argv[3])))
    print(json.dumps({"type": "summary", "pages": crawled}))
