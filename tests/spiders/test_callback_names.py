"""A request to a callback that the spider does not have is an error before the crawl, with its line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal import Page, Request, Spider, spider
from shoal.errors import UsageError
from shoal.spiders.check_callback_names import check_callback_names
from shoal.spiders.load_spider import load_spider
from shoal.spiders.run_callback import collect


def detail(page: Page) -> Iterator[Any]:
    """A function without `@shop.callback`."""
    yield {}


class Other:
    def request(self, url: str, to: str) -> str:
        return url + to


def by_text(page: Page) -> Iterator[Any]:
    yield from page.follow("a", to="detial")


def by_position(page: Page) -> Iterator[Any]:
    yield page.request("/a", "detial")


def by_function(page: Page) -> Iterator[Any]:
    yield from page.follow("a", to=detail)


def on_failure(page: Page) -> Iterator[Any]:
    yield page.request("/a", errors="detial")


def by_request(page: Page) -> Request:
    return Request("https://a.test/", callback="detial")


async def in_async_code(page: Page) -> Any:
    yield page.request("/a", to="detial")


@pytest.mark.parametrize("start", [by_text, by_position, by_function, on_failure, by_request, in_async_code])
def test_a_callback_that_does_not_exist_is_named_with_its_line(start: Callable[..., Any]) -> None:
    name = "detail" if start is by_function else "detial"
    line = inspect.getsourcelines(start)[1] + 1
    with pytest.raises(UsageError) as told:
        check_callback_names(spider("https://a.test/", name="shop")(start))
    assert str(told.value).startswith(f"test_callback_names.py:{line}: spider shop has no callback '{name}'")


@spider("https://a.test/")
def shop(page: Page, more: str = "") -> Iterator[Any]:
    to = more or "parts"
    yield from page.follow("a", to=shop)
    yield from page.follow("a", to="parts", errors=parts)
    yield page.request("/a", to=to)
    yield {"url": Other().request("/a", to="elsewhere")}


@shop.callback
def parts(page: Page) -> Iterator[Any]:
    yield {}


def test_what_only_the_run_can_tell_is_left_to_it() -> None:
    check_callback_names(shop)


def test_a_spider_is_its_own_callback() -> None:
    page = Page("https://a.test/", b'<a href="/b">', html=b'<a href="/b">')
    first = collect(shop.start, page)[0]
    assert isinstance(first, Request) and first.callback == "shop"


def test_a_file_with_such_a_request_is_not_loaded(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    code = "from shoal import spider\n@spider()\ndef wrong(page):\n    yield page.request('/', to='x')\n"
    file.write_text(code)
    with pytest.raises(UsageError, match=r"wrong\.py:4: spider wrong has no callback 'x'\. It has: wrong\."):
        load_spider(str(file))


def test_run_refuses_it_too(tmp_path: Path) -> None:
    wrong: Spider = spider("https://a.test/")(by_text)
    with pytest.raises(UsageError, match="has no callback 'detial'"):
        wrong.run(tmp_path)
