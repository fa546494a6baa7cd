"""The crawl in Crawlee's PlaywrightCrawler: `python -P crawlee_browser_peer.py PROGRAM URL PAGES`."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from crawlee import ConcurrencySettings  # type: ignore[import-not-found]
from crawlee.crawlers import PlaywrightCrawler, PlaywrightCrawlingContext  # type: ignore[import-not-found]
from crawlee.storage_clients import MemoryStorageClient  # type: ignore[import-not-found]

AT_ONCE = 4


async def crawl(program: str, url: str, pages: int) -> int:
    crawler = PlaywrightCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=AT_ONCE, desired_concurrency=AT_ONCE, max_concurrency=AT_ONCE
        ),
        max_requests_per_crawl=pages,
        respect_robots_txt_file=False,
        configure_logging=False,
        # As the other two have it by default: Chromium as root has no sandbox.
        browser_launch_options={"executable_path": program, "chromium_sandbox": False},
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def page(context: PlaywrightCrawlingContext) -> None:
        await context.page.wait_for_selector("#done", state="attached")
        html = await context.page.content()
        found = {"url": context.request.url, "title": await context.page.title(), "status": context.response.status}
        await context.push_data({**found, "characters": len(html)})
        await context.enqueue_links(strategy="all")

    await crawler.run([url])
    return int((await crawler.get_data()).count)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    crawled = asyncio.run(crawl(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    print(json.dumps({"type": "summary", "pages": crawled}))
