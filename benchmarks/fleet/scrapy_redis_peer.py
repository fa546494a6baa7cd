"""The links crawl in scrapy-redis: `REDIS_URL=... python -P scrapy_redis_peer.py PAGES`, where that is installed.

It waits for its first URL in the list `links:start_urls`, as scrapy-redis does, and ends after that many pages.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy_redis.spiders import RedisSpider

SETTINGS = {
    "REDIS_URL": os.environ["REDIS_URL"],
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "LOG_LEVEL": "ERROR",
}


class Links(RedisSpider):
    name = "links"

    def make_request_from_data(self, data: bytes) -> Any:
        # Its own does not remember the seed, and would fetch the front page twice.
        return Request(data.decode())

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get(), "status": response.status}
        yield from response.follow_all(css="a")
        # Only a page that was read to its end counts.
        self.crawler.stats.inc_value("pages")


def main(pages: int) -> None:
    process = CrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": pages})
    crawler = process.create_crawler(Links)
    process.crawl(crawler)
    process.start()
    print(json.dumps({"type": "summary", "pages": crawler.stats.get_value("pages", 0)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
