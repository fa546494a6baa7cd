"""The crawl in Scrapy: `python -P scrapy_peer.py URL PAGES`, in an environment that has Scrapy."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]

SETTINGS = {
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "LOG_LEVEL": "ERROR",
}


class Peer(Spider):  # type: ignore[misc]
    name = "peer"

    async def start(self) -> AsyncIterator[Any]:
        # Scrapy's own start does not remember the seed, and would fetch the front page twice.
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get(), "status": response.status}
        yield from response.follow_all(css="a")


def main(url: str, pages: int) -> None:
    process = CrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": pages})
    crawler = process.create_crawler(Peer)
    process.crawl(crawler, start_urls=[url])
    process.start()
    print(json.dumps({"type": "summary", "pages": crawler.stats.get_value("item_scraped_count", 0)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
