"""The crawl in Scrapy with scrapy-playwright: `python -P scrapy_browser_peer.py PROGRAM URL PAGES`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy_playwright.page import PageMethod  # type: ignore[import-not-found]

AT_ONCE = 4
_HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
SETTINGS = {
    "DOWNLOAD_HANDLERS": {"http": _HANDLER, "https": _HANDLER},
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": AT_ONCE,
    "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE,
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": AT_ONCE,
    "LOG_LEVEL": "ERROR",
}


class Links(Spider):
    name = "links"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield self.rendered(url)

    def rendered(self, url: str) -> Request:
        waiting = PageMethod("wait_for_selector", "#done", state="attached")
        return Request(url, meta={"playwright": True, "playwright_page_methods": [waiting]})

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get(), "status": response.status}
        for link in response.css("a::attr(href)").getall():
            yield self.rendered(response.urljoin(link))
        self.crawler.stats.inc_value("pages")


def main(program: str, url: str) -> None:
    process = CrawlerProcess({**SETTINGS, "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": program}})
    crawler = process.create_crawler(Links)
    process.crawl(crawler, start_urls=[url])
    process.start()
    print(json.dumps({"type": "summary", "pages": crawler.stats.get_value("pages", 0)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
