"""The crawls in Scrapy: `python -P scrapy_peer.py links|kept|items URL PAGES [FILE [RATE]]`, where that is installed.

Writes the results to the file, if there is one, and drops them otherwise. With a rate, each host gets so many requests
a second.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import date
from decimal import Decimal
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

SETTINGS = {
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
    "LOG_LEVEL": "ERROR",
}


class Peer(Spider):
    async def start(self) -> AsyncIterator[Any]:
        # Scrapy's own start does not remember the seed, so it would fetch the front page twice.
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Any) -> Iterator[Any]:
        yield from self.read(response)
        # Counts only pages that were read completely.
        self.crawler.stats.inc_value("pages")

    def read(self, response: Any) -> Iterator[Any]:
        raise NotImplementedError


class Links(Peer):
    name = "links"

    def read(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get(), "status": response.status}
        yield from response.follow_all(css="a")


class Kept(Peer):
    """Also text and links of a page, in the cheapest way; and the queue is on disk."""

    name = "kept"
    custom_settings: ClassVar = {"JOBDIR": "queue"}

    def read(self, response: Any) -> Iterator[Any]:
        links = list(response.follow_all(css="a"))
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "status": response.status,
            "text": response.xpath("normalize-space(//body)").get(),
            "links": [link.url for link in links],
        }
        yield from links


class Items(Peer):
    name = "items"

    def read(self, response: Any) -> Iterator[Any]:
        for product in response.css("article.product"):
            yield {
                "title": product.css("h3 a::attr(title)").get(),
                "price": Decimal(product.css(".price::text").get().lstrip("£")),
                "url": response.urljoin(product.css("h3 a::attr(href)").get()),
                "image": response.urljoin(product.css("img::attr(src)").get()),
                "rating": product.css(".rating::attr(class)").get(),
                "stock": int(product.css(".stock .count::text").get().partition(" ")[0]),
                "sku": product.css(".sku::text").get(),
                "added": date.fromisoformat(product.css("time::attr(datetime)").get()),
                "category": product.css(".category a::text").get(),
                "description": product.css(".description::text").get(),
            }
        yield from response.follow_all(css="nav.pages a")


def main(spider: type[Peer], url: str, pages: int, file: str = "", rate: str = "") -> None:
    feeds = {file: {"format": "jsonlines"}} if file else {}
    pace = {"DOWNLOAD_DELAY": 1 / float(rate), "RANDOMIZE_DOWNLOAD_DELAY": False} if rate else {}
    process = CrawlerProcess({**SETTINGS, **pace, "CLOSESPIDER_PAGECOUNT": pages, "FEEDS": feeds})
    crawler = process.create_crawler(spider)
    process.crawl(crawler, start_urls=[url])
    process.start()
    pages, items = (crawler.stats.get_value(name, 0) for name in ("pages", "item_scraped_count"))
    print(json.dumps({"type": "summary", "pages": pages, "items": items}))


if __name__ == "__main__":
    main({"links": Links, "kept": Kept, "items": Items}[sys.argv[1]], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
