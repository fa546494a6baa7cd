"""Spiders of every common kind, for the practice site. `site` is an argument of each."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import FormRequest, Item, Request, Spider
from scrapy.item import Field
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.defer import maybe_deferred_to_future

from shoal.scrapy import RedisCrawlSpider, RedisSpider


class Product(Item):  # type: ignore[misc]
    url = Field()
    title = Field()


class PlainSpider(Spider):  # type: ignore[misc]
    """Follows categories by hand, with meta and cb_kwargs."""

    name = "plain"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/", self.parse, meta={"from": ("start", 1)}, priority=3)

    def parse(self, response: Any) -> Iterator[Any]:
        assert response.meta["from"] == ("start", 1)
        for place, link in enumerate(response.css("a[href*='/category/']::attr(href)").getall()):
            yield response.follow(link, self.parse_category, cb_kwargs={"place": place})

    def parse_category(self, response: Any, place: int) -> Iterator[Any]:
        for link in response.css("a[href*='/product/']::attr(href)").getall():
            yield response.follow(link, self.parse_product, meta={"found": Product(url=response.url)})
        for link in response.css("a[href*='/category/']::attr(href)").getall():
            yield response.follow(link, self.parse_category, cb_kwargs={"place": place})

    def parse_product(self, response: Any) -> Iterator[Any]:
        assert isinstance(response.meta["found"], Product)
        yield Product(url=response.url, title=response.css("h1::text").get())


class RuleSpider(CrawlSpider):  # type: ignore[misc]
    name = "rules"
    rules = (
        Rule(LinkExtractor(allow=r"/product/"), callback="parse_product"),
        Rule(LinkExtractor(allow=r"/category/")),
    )

    def __init__(self, site: str, **named: Any) -> None:
        super().__init__(**named)
        self.start_urls = [f"{site}/"]

    def parse_product(self, response: Any) -> dict[str, Any]:
        assert isinstance(response.meta["link_text"], str)
        return {"url": response.url, "title": response.css("h1::text").get()}


class MapSpider(SitemapSpider):  # type: ignore[misc]
    name = "map"
    sitemap_rules = (("/product/", "parse_product"),)

    def __init__(self, site: str, **named: Any) -> None:
        self.sitemap_urls = [f"{site}/sitemap.xml"]
        super().__init__(**named)

    def parse_product(self, response: Any) -> dict[str, Any]:
        return {"url": response.url}


class LoginSpider(Spider):  # type: ignore[misc]
    name = "login"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/account/login.html", self.log_in)

    def log_in(self, response: Any) -> Any:
        fields = {"user": "ann", "password": "pebble"}
        return FormRequest.from_response(response, formdata=fields, callback=self.parse_orders)

    def parse_orders(self, response: Any) -> Iterator[Any]:
        yield {"logged_in": "Please log in" not in response.text, "url": response.url}
        for place in range(20):
            yield Request(f"{self.site}/account/orders.html?page={place}", self.parse_page)

    def parse_page(self, response: Any) -> dict[str, Any]:
        return {"logged_in": response.status == 200 and "Please log in" not in response.text, "url": response.url}


class ErrorSpider(Spider):  # type: ignore[misc]
    """Errbacks, retries, callbacks that fail, requests that cannot be kept."""

    name = "errors"

    async def start(self) -> AsyncIterator[Any]:
        yield Request("http://127.0.0.1:1/", self.parse, errback=self.failed)
        yield Request(f"{self.site}/nowhere.html", self.parse)
        yield Request(f"{self.site}/product/none.html", self.parse, errback=self.failed)
        yield Request(f"{self.site}/", self.parse_badly)
        yield Request(f"{self.site}/about.html", self.parse_lambda)
        for _ in range(2):
            yield Request(f"{self.site}/contact.html", self.parse, dont_filter=True)

    def parse(self, response: Any) -> dict[str, Any]:
        return {"url": response.url}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "failed": failure.type.__name__}

    def parse_badly(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "before": True}
        raise ValueError("a bug of the spider")

    def parse_lambda(self, response: Any) -> Iterator[Any]:
        yield response.follow("/", lambda answer: None, dont_filter=True)


class BlockingSpider(Spider):  # type: ignore[misc]
    """Its first callback blocks the whole process."""

    name = "blocking"

    async def start(self) -> AsyncIterator[Any]:
        for place in range(8):
            yield Request(f"{self.site}/product/none-{place}.html", self.parse)

    handle_httpstatus_list = (404,)

    def parse(self, response: Any) -> dict[str, Any]:
        if response.url.endswith("none-0.html"):
            time.sleep(5)
        return {"url": response.url}


class QueueSpider(RedisSpider):  # type: ignore[misc]
    name = "queue"

    def __init__(self, site: str, **named: Any) -> None:
        super().__init__(**named)

    def parse(self, response: Any) -> dict[str, Any]:
        return {"url": response.url, "method": response.request.method, "note": response.meta.get("note")}


class QueueOfIdsSpider(RedisSpider):  # type: ignore[misc]
    name = "ids"
    redis_key = "ids:todo"
    redis_batch_size = 2

    def make_request_from_data(self, data: bytes) -> Any:
        return None if data == b"none" else Request(f"{self.site}/about.html?id={data.decode()}", dont_filter=True)

    def parse(self, response: Any) -> dict[str, Any]:
        return {"id": response.url.partition("=")[2]}


class QueueRuleSpider(RedisCrawlSpider):  # type: ignore[misc]
    name = "queue_rules"
    redis_key = "urls of %(name)s"
    rules = (Rule(LinkExtractor(allow=r"/product/"), callback="parse_product"),)

    def __init__(self, site: str, **named: Any) -> None:
        super().__init__(**named)

    def parse_product(self, response: Any) -> dict[str, Any]:
        return {"url": response.url}


class ManySpider(Spider):  # type: ignore[misc]
    """Its callbacks yield many items, and many links of which most are known."""

    name = "many"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/", self.parse)

    def parse(self, response: Any) -> Iterator[Any]:
        for place in range(150):
            yield {"url": response.url, "place": place}
            yield response.follow("/about.html", self.parse_about)
            yield response.follow(f"/contact.html?{place % 3}", self.parse_about)

    def parse_about(self, response: Any) -> None:
        """Checked by `scrapy check`.

        @url data:,about
        @returns items 0
        """
        self.crawler.stats.inc_value("about")


class GallerySpider(Spider):  # type: ignore[misc]
    """Requests that go past the scheduler: of a callback, of the media pipeline and for robots.txt."""

    name = "gallery"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.site}/", self.parse)

    def parse(self, response: Any) -> Iterator[Any]:
        for place in range(16):
            yield Request(f"{self.site}/about.html?page={place}", self.parse_page, cb_kwargs={"place": place})

    async def parse_page(self, response: Any, place: int) -> AsyncIterator[Any]:
        extra = Request(f"{self.site}/contact.html?inline={place}")
        engine = self.crawler.engine
        download = getattr(engine, "download_async", None)
        answer = await (download(extra) if download else maybe_deferred_to_future(engine.download(extra)))
        file_urls = [f"{self.site}/feed.xml?file={place}-{n}" for n in range(2)]
        yield {"url": response.url, "inline": answer.status, "file_urls": file_urls}
