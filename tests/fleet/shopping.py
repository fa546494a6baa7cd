"""A fleet that crawls the practice shop with a spider while a test does something to it, and what must come of that.

with shopping(tmp_path) as shop:
    shop.fleet.until_pages(shop.job, 40)
    shop.fleet.redis.kill()
    shop.fleet.redis.start()
    shop.assert_unharmed(repeats=0)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import select

from shoal.fleet.fleet import Fleet
from shoal.practice import LogEntry, Shop, running
from shoal.practice import Running as Site
from shoal.store.tables import pages
from tests.fleet import oracles
from tests.fleet.running import Running

SHOP = Shop(hosts=3, categories=3, products=36, troubled=False)
PAGES = sum(len(host.pages) for host in SHOP.truth().values())
RATE = 8.0
PER_HOST = 2
IN_FLIGHT = PER_HOST * SHOP.hosts
LATENCY_MS = 30.0
SPIDER = """
from shoal import Item, Page, css, spider


class Product(Item):
    name: str = css("h1")
    price: str = css(".price_color")


@spider({seeds}, allow_private=True)
def products(page: Page):
    if page.css(".product_page"):
        yield page.item(Product)
    yield from page.follow("a")
"""


@dataclass
class Shopping:
    fleet: Running
    site: Site
    job: str

    def stored(self) -> set[tuple[str, str]]:
        """Host and path of every page that has its row."""

        async def look(opened: Fleet) -> list[str]:
            with opened.store.read() as db:
                return list(db.scalars(select(pages.c.url).where(pages.c.job == self.job)))

        return {place_of(url, self.site) for url in self.fleet.by_hand(look)}

    def asked(self) -> list[LogEntry]:
        """What the site was asked for, robots.txt apart."""
        return [entry for entry in self.site.log() if entry.path != "/robots.txt"]

    def until_asked(self, requests: int) -> None:
        self.fleet.until(lambda: len(self.asked()) >= requests)

    def clocks(self) -> dict[str, float]:
        """When each host may be fetched next."""

        async def look(opened: Fleet) -> dict[str, float]:
            return {host.name: host.next_at for host in await opened.frontier.hosts()}

        return self.fleet.by_hand(look)

    def assert_unharmed(self, repeats: int = 0) -> None:
        """I1 to I5, when the job has ended; so many fetches may have been interrupted."""
        self.fleet.until_ended(self.job)
        oracles.assert_whole(self.fleet, self.job, SHOP, self.site)
        oracles.assert_same_items(self.fleet, self.job, items_expected())
        oracles.assert_behaved(self.site.log(), RATE, PER_HOST, repeats)

    def assert_nothing_again(self, stored: set[tuple[str, str]], since: float) -> None:
        """Of what was stored at that time."""
        assert not stored & {(entry.host, entry.path) for entry in self.asked() if entry.t_start > since}


@contextmanager
def shopping(folder: Path, **named: Any) -> Iterator[Shopping]:
    """In mid-crawl; `named` is about the fleet."""
    with ExitStack() as stack:
        site = stack.enter_context(running(SHOP, log=folder / "site.log", latency_ms=LATENCY_MS))
        fleet = stack.enter_context(Running(folder, **named))
        yield begin(fleet, site)


def begin(fleet: Running, site: Site) -> Shopping:
    spider = write_spider(fleet.folder, site)
    return Shopping(fleet, site, fleet.submit(spider, "--rate", str(RATE), "--per-host", str(PER_HOST)))


@cache
def items_expected() -> list[str]:
    """Those of an embedded crawl; the shop has them on whatever port it is."""
    with tempfile.TemporaryDirectory() as name, running(SHOP) as site:
        folder = Path(name)
        return oracles.items_embedded(folder / "embedded", str(folder / write_spider(folder, site)))


def write_spider(folder: Path, site: Site) -> str:
    seeds = ", ".join(repr(site.url("/", address)) for address in SHOP.addresses)
    (folder / "products.py").write_text(SPIDER.format(seeds=seeds))
    return "products.py"


def place_of(url: str, site: Site) -> tuple[str, str]:
    host, _, path = url.removeprefix("http://").partition(f":{site.port}")
    return host, path
