"""Drafts of spiders in Scrapy's way, loaded and run on a page."""

from __future__ import annotations

import textwrap
from pathlib import Path

from shoal.spiders.from_scrapy import Draft, draft, spiders_in
from shoal.spiders.load_spider import load_spider
from shoal.spiders.page import Request
from shoal.spiders.spider import Spider

HEAD = """
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from shop.items import BookItem

"""


BOOK = b"<h1>Blue <b>Bell</b></h1><p class=price>12</p><a href=/a>1</a><a href=/b>2</a><i data-x=7></i>"


def drafted(code: str, head: str = HEAD) -> Draft:
    source = head + textwrap.dedent(code)
    return draft(spiders_in(source, "shop.py")[0], source, "shop.py")


def with_parse(body: str, rest: str = "") -> Draft:
    """A spider whose callback has this body."""
    methods = f"def parse(self, response):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n{textwrap.dedent(rest)}"
    head = 'class Books(scrapy.Spider):\n    name = "books"\n    start_urls = ["http://x.example/"]\n\n'
    return drafted(head + textwrap.indent(methods, "    "))


def loaded(made: Draft, folder: Path) -> Spider:
    path = folder / "draft.py"
    path.write_text(made.text)
    return load_spider(str(path))


def found(made: Draft, folder: Path, html: bytes = BOOK, callback: str = "") -> list[object]:
    """What a callback yields: items as mappings, requests as their URLs."""
    given = loaded(made, folder).test(html, url="http://x.example/shop/", callback=callback)
    return [one.url if isinstance(one, Request) else dict(one or {}) for one in given]


def requests_of(made: Draft, folder: Path, html: bytes, callback: str = "") -> list[Request]:
    given = loaded(made, folder).test(html, url="http://x.example/shop/", callback=callback)
    return [one for one in given if isinstance(one, Request)]
