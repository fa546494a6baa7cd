"""Steps: what a spider does with each item before it is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shoal import DropItem, Item, Page, Request, Spider, spider
from shoal.errors import UsageError
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.run_callback import CallbackFailed, CallbackResult, run

PAGE = Page("https://x.test/", b"<p>")


class Book(Item):
    title: str
    price: int = 0


def shop() -> Spider:
    @spider("https://x.test/")
    def books(page: Page) -> Any:
        yield Book(title="a", price=1)
        yield Request("https://x.test/2")
        yield {"title": "plain"}
        yield Book(title="b", price=200)

    return books


def result_of(books: Spider) -> CallbackResult:
    return asyncio.run(run(books, "", PAGE, CallbackLimits()))


def titles(found: list[Any]) -> list[str]:
    return [each["title"] if isinstance(each, dict) else each.title for each in found if not isinstance(each, Request)]


def test_a_step_changes_drops_and_splits_items_in_their_order() -> None:
    books = shop()

    @books.step
    def shout(item: Any) -> None:
        if isinstance(item, Book):
            item.title = item.title.upper()

    @books.step
    def affordable(item: Any, page: Page) -> Any:
        assert page.url == PAGE.url
        if isinstance(item, Book) and item.price > 100:
            raise DropItem("too dear")
        return item

    @books.step
    def twins(item: Any) -> Any:
        yield item
        if isinstance(item, Book):
            yield Book(title=f"{item.title}2")

    assert titles(books.test(b"<p>", PAGE.url)) == ["A", "A2", "plain"]
    result = result_of(books)
    assert [item.type for item in result.items] == ["Book", "Book", "dict"]
    assert len(result.requests) == 1 and result.dropped == {"too dear": 1}


def test_async_steps_run_too_and_after_plain_ones() -> None:
    books = shop()

    @books.step
    def plain(item: Any) -> Any:
        return None if isinstance(item, Book) else []

    @books.step
    async def waits(item: Book) -> Any:
        await asyncio.sleep(0)
        return [item, item] if item.price == 1 else None

    @books.step
    async def yields(item: Book) -> Any:
        if item.price == 1:
            yield item

    assert titles(books.test(b"<p>")) == ["a", "a"]
    result = result_of(books)
    assert len(result.items) == 2
    assert result.dropped == {"plain gave no item": 1, "yields gave no item": 1}


def test_a_step_that_fails_fails_the_page_with_its_line() -> None:
    books = shop()

    @books.step
    def broken(item: Any) -> Any:
        raise KeyError("isbn")

    with pytest.raises(CallbackFailed, match=r"books\.books: KeyError: 'isbn' \(test_item_steps\.py:\d+\)"):
        result_of(books)


def test_a_step_that_never_ends_is_stopped() -> None:
    books = shop()

    @books.step
    def endless(item: Any) -> Any:
        while True:
            pass

    with pytest.raises(CallbackFailed, match=r"it took more than 0\.2 s"):
        asyncio.run(run(books, "", PAGE, CallbackLimits(seconds=0.2)))


def test_reasons_without_end_are_counted_together() -> None:
    @spider("https://x.test/")
    def many(page: Page) -> Any:
        yield from (Book(title="x", price=n) for n in range(300))

    @many.step
    def drop(item: Book) -> None:
        raise DropItem(f"reason {item.price}")

    dropped = result_of(many).dropped
    assert len(dropped) == 101 and dropped["other reasons"] == 200


def test_a_step_takes_an_item_or_an_item_and_a_page() -> None:
    with pytest.raises(UsageError, match="the step wrong has 3 parameters"):

        @shop().step
        def wrong(item: Any, page: Page, more: int) -> None: ...
