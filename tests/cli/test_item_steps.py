"""A crawl says what its spider's steps dropped."""

from __future__ import annotations

from shoal.practice import Running
from tests.cli.conftest import Shell

SPIDER = """
from decimal import Decimal
from shoal import DropItem, Item, Page, css, spider

class Book(Item):
    title: str = css("h3 a")
    price: Decimal = css(".price_color")

@spider("{url}", allow_private=True, rate=0)
def books(page: Page):
    yield from page.each("article.product_pod", Book)
    yield from page.follow("nav a, li.next a")

@books.step
async def cheap(item):
    if item.price > {most}:
        raise DropItem("too dear")
"""


def test_dropped_items_are_counted_by_reason(shoal: Shell, site: Running) -> None:
    (shoal.folder / "all.py").write_text(SPIDER.format(url=site.url(), most=10**6))
    (shoal.folder / "cheap.py").write_text(SPIDER.format(url=site.url(), most=100))
    (shoal.folder / "none.py").write_text(SPIDER.format(url=site.url(), most=0))
    found = shoal("crawl", "all.py", "--json").summary["items"]
    ran = shoal("crawl", "cheap.py")
    [job] = shoal("job", "last", "--json").lines
    dropped = job["dropped_items"]["too dear"]
    assert 0 < job["items"] < found and job["items"] + dropped == found
    assert f"items: {job['items']}, {dropped} dropped (too dear {dropped})" in ran.err
    assert f"{dropped} dropped (too dear {dropped})" in shoal("job", "last").out
    assert f"steps dropped all {found}, mostly because of 'too dear'" in shoal("crawl", "none.py").err
