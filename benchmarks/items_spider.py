"""The items crawl as a user would write it: `shoal crawl items_spider.py URL`.

`Items` in scrapy_peer.py has the same selectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from shoal import Item, Page, Request, Url, css, spider


class Product(Item):
    title: str = css("h3 a::attr(title)")
    price: Decimal = css(".price::text")
    url: Url = css("h3 a::attr(href)")
    image: Url = css("img::attr(src)")
    rating: str = css(".rating::attr(class)")
    stock: int = css(".stock .count::text")
    sku: str = css(".sku::text")
    added: date = css("time::attr(datetime)")
    category: str = css(".category a::text")
    description: str = css(".description::text")


@spider()
def products(page: Page) -> Iterator[Product | Request]:
    yield from page.each("article.product", Product)
    yield from page.follow("nav.pages a")
