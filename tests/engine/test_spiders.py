"""Spiders in a real crawl: items, callbacks, failures that end a page and not the crawl."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shoal import Item, Page, Spider, css, spider
from shoal.model import DeadLetter
from shoal.practice import Answer, Visit
from shoal.spiders.callback_limits import CallbackLimits
from shoal.store.results.items import list_items, list_rejects
from tests.engine.conftest import Field, Pages, html, serving, spec


class Thing(Item, key="name"):
    name: str = css("b")
    price: Decimal = css("i")


class Parcel(Item):
    name: str
    content: Any


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def thing(name: str, price: str, *hrefs: str) -> Answer:
    return html(*hrefs, body=f"<b>{name}</b><i>{price}</i>")


async def crawl(crawler: Field, made: Spider, site: str, **options: Any) -> list[dict[str, Any]]:
    crawler.add("job", spec(spider="here", **options), site)
    crawler.spider = made
    await crawler.run("job")
    return list(list_items(crawler.home.store, "job", {}))


async def test_items_and_links_come_from_the_callbacks_alone(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a[href='/a']", to=detail, meta={"from": page.url}, priority=1)
        yield {"front": page.title}

    @shop.callback
    def detail(page: Page) -> Iterator[Any]:
        assert page.meta["from"].endswith("/")
        yield page.item(Thing)

    pages = {"/": html("/a", "/never"), "/a": thing("A", "£3.50", "/never2")}
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url())
    assert items == [{"front": "t"}, {"name": "A", "price": "3.50"}]
    assert set(crawler.pages()) == {"/", "/a"}


async def test_the_record_of_a_page_that_a_callback_parsed_has_its_directives(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield {"heading": page.css("h1")[0].text}

    head = '<link rel="canonical" href="/lamp"><meta name="robots" content="nofollow">'
    async with serving({"/": html(head=head, body="<h1>Lamp</h1>")}) as site:
        await crawl(crawler, shop, site.url())
        record = crawler.ending(site.url())
    assert (record.title, record.canonical, record.noindex, record.nofollow) == ("t", site.url("/lamp"), False, True)


async def test_a_page_in_another_charset_is_followed_as_browsers_do(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a")

    page = Answer(200, '<a href="/é?q=é&r=1">x</a>'.encode("latin-1"), "text/html; charset=iso-8859-1")
    async with serving({"/": page}) as site:
        await crawl(crawler, shop, site.url())
    assert crawler.pages() == {"/": 200, "/%C3%A9?q=%E9&r=1": 404}


async def test_equal_keys_are_one_item_and_the_last_wins(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.item(Thing)
        yield from page.follow("a")

    async with serving({"/": thing("A", "1", "/b"), "/b": thing("A", "2")}) as site:
        items = await crawl(crawler, shop, site.url())
    assert items == [{"name": "A", "price": "2"}]


async def test_async_callbacks_and_posts_work(crawler: Field) -> None:
    @spider()
    async def login(page: Page) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        yield page.request("/login", form={"user": "ann"}, to=inside)

    @login.callback
    async def inside(page: Page) -> dict[str, str]:
        return {"welcome": page.text}

    def door(visit: Visit) -> Answer:
        return html(body=f"{visit.method} {visit.body.decode()}")

    async with serving({"/": html(), "/login": door}) as site:
        items = await crawl(crawler, login, site.url())
    assert items == [{"welcome": "POST user=ann"}]


async def test_a_failing_callback_is_a_dead_letter_that_names_its_place(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a")
        if page.url.endswith("/bad"):
            raise ValueError("no such luck")
        yield {"url": page.url}

    async with serving({"/": html("/bad", "/good"), "/bad": html(), "/good": html()}) as site:
        items = await crawl(crawler, shop, site.url())
        end = crawler.ending(site.url("/bad"))
    assert len(items) == 2
    assert isinstance(end, DeadLetter)
    assert end.reason == "callback"
    assert end.detail.startswith("shop.shop: ValueError: no such luck (test_spiders.py:")


async def test_items_that_fail_validation_are_kept_with_their_reason(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.item(Thing)
        yield {"sibling": True}

    async with serving({"/": thing("A", "free")}) as site:
        items = await crawl(crawler, shop, site.url())
    assert items == [{"sibling": True}]
    (reject,) = list_rejects(crawler.home.store, "job", {})
    assert "price" in str(reject)


async def test_a_mapping_that_cannot_be_kept_is_rejected_by_field_and_type(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield {"price": object(), "name": "A", "more": [{"of": print}]}
        yield {"price": Decimal("3.50"), "on": datetime(2026, 1, 2, 3), "tags": {"a"}}
        yield {(1, 2): "key"}

    async with serving({"/": html()}) as site:
        items = await crawl(crawler, shop, site.url())
    assert items == [{"price": "3.50", "on": "2026-01-02T03:00:00", "tags": ["a"]}]
    first, second = list_rejects(crawler.home.store, "job", {})
    assert (
        first["reason"].startswith("price: cannot store object")
        and "more: cannot store builtin_function_or_method" in first["reason"]
    )
    assert first["data"]["name"] == "A" and "(1, 2): keys must be str" in second["reason"]


async def test_an_item_that_cannot_be_kept_is_rejected_alone_by_field_and_type(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield Parcel(name="A", content={"a"})
        yield Parcel(name="B", content=[object()])
        yield Parcel(name="C", content=Parcel(name="D", content=b"\xff"))
        yield Parcel(name="E", content=nested(300))
        yield {"name": "F", "content": nested(300)}
        yield Parcel(name="G", content=None)

    async with serving({"/": html()}) as site:
        items = await crawl(crawler, shop, site.url())
    assert items == [{"name": "A", "content": ["a"]}, {"name": "G", "content": None}]
    rejects = list(list_rejects(crawler.home.store, "job", {}))
    assert [reject["type"] + reject["data"]["name"] for reject in rejects] == ["ParcelB", "ParcelC", "ParcelE", "dictF"]
    reasons = [reject["reason"] for reject in rejects]
    assert reasons[0] == "content: cannot store object: give text, numbers, dates, lists or dicts"
    assert reasons[1].startswith("content: cannot store bytes")
    assert all(reason.startswith("content: ") and "depth" in reason for reason in reasons[2:])


@pytest.mark.parametrize("misdeed", ["loop", "memory", "endless"])
async def test_a_callback_that_runs_wild_ends_alone(crawler: Field, misdeed: str) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a")
        if page.url.endswith("/wild"):
            if misdeed == "loop":
                while True:
                    pass
            if misdeed == "endless":
                while True:
                    yield {"n": 1}
            hoard = [bytearray(50_000_000) for _ in range(1000)]
            yield {"n": len(hoard)}
        yield {"url": page.url}

    crawler.bounds = CallbackLimits(seconds=1 if misdeed == "loop" else 30, memory_bytes=300_000_000)
    pages: Pages = {"/": html("/wild", "/tame"), "/wild": html(), "/tame": html()}
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url())
        end = crawler.ending(site.url("/wild"))
    assert sorted(str(item["url"]).rpartition("/")[2] for item in items) == ["", "tame"]
    assert isinstance(end, DeadLetter)
    expected = {"loop": "CallbackTimeout", "memory": "MemoryError", "endless": "yielded more than"}[misdeed]
    assert expected in end.detail


async def test_scope_and_depth_hold_for_what_a_spider_asks_for(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a")

    visits: Counter[str] = Counter()
    pages = {"/": html("/1", "https://elsewhere.example/"), "/1": html("/2"), "/2": html()}
    async with serving(pages) as site:
        await crawl(crawler, shop, site.url(), limits={"depth": 1})
        seen = await crawler.figures()
    assert set(crawler.pages()) == {"/", "/1"}
    assert seen.stored.skipped == {"off_scope": 1, "too_deep": 1}
    assert not visits


async def test_a_spider_runs_and_streams_from_python(tmp_path: Path) -> None:
    def start(site: str) -> Spider:
        @spider(site, rate=0, allow_private=True)
        def shop(page: Page) -> Iterator[Any]:
            yield page.item(Thing)
            yield from page.follow("a")

        return shop

    async with serving({"/": thing("A", "1", "/b"), "/b": thing("B", "2")}) as site:
        shop = start(site.url())
        report = await asyncio.to_thread(shop.run, tmp_path / "one")
        streamed = await asyncio.to_thread(lambda: list(shop.stream(tmp_path / "two")))
    assert report.overview.stored.items == 2
    assert sorted(item["name"] for item in streamed) == ["A", "B"]


def test_a_saved_page_tests_a_spider_without_a_network(tmp_path: Path) -> None:
    @spider("https://shop.example/")
    def shop(page: Page) -> Iterator[Any]:
        yield page.item(Thing)
        yield from page.follow("a")

    saved = tmp_path / "page.html"
    saved.write_bytes(b"<b>A</b><i>2.00</i><a href=/next>n</a>")
    item, request = shop.test(saved)
    assert item == Thing(name="A", price=Decimal("2.00"))
    assert request.url == "https://example.com/next"  # type: ignore[union-attr]
