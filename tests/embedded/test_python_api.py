"""`spider.run()` and `.stream()` as code and notebooks call them, and what their report gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shoal import Item, Page, Spider, css, spider
from shoal.errors import UsageError
from shoal.practice import Running, Shop, running


class Product(Item):
    title: str = css("h3 a")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("shop") / "site.log"
    with running(Shop(hosts=1, categories=2, products=12, troubled=False), log=log) as site:
        yield site


@pytest.fixture
def shop(site: Running) -> Spider:
    @spider(site.url(), rate=0, allow_private=True)
    def shop(page: Page) -> Iterator[Any]:
        yield from page.each("article", Product)
        yield from page.follow("a[href*=category]")

    return shop


async def test_inside_a_running_event_loop(shop: Spider, tmp_path: Path) -> None:
    report = shop.run(tmp_path / "run")
    assert report.overview.state == "done" and report.overview.stored.items > 10
    assert len(list(shop.stream(tmp_path / "stream"))) > 10


def test_the_report_gives_items_and_pages(shop: Spider, tmp_path: Path) -> None:
    report = shop.run(tmp_path)
    items, pages = list(report.items()), list(report.pages())
    assert len(items) == report.overview.stored.items and set(items[0]) == {"title"}
    assert len(pages) == report.overview.stored.pages and pages[0]["status"] == 200


def test_without_pandas_the_error_says_what_to_install(
    shop: Spider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        shop.run(tmp_path).to_pandas()


class Typed(Item):
    title: str = css("h3 a")
    price: Decimal = css(".price_color")
    parts: list[Decimal] = css(".price_color")
    stock: int | None = None
    rating: float | None = None
    new: bool | None = None
    on: date | None = None
    at: datetime | None = None
    same: Product = css("article")


def test_the_columns_of_a_data_frame_have_the_types_of_their_fields(site: Running, tmp_path: Path) -> None:
    @spider(site.url(), rate=0, allow_private=True)
    def typed(page: Page) -> Iterator[Any]:
        for number, item in enumerate(page.each("article", Typed)):
            if number:
                item.stock, item.rating, item.new = number, number / 2, True
                item.on, item.at = date(1500, 1, number), datetime(2026, 1, 2, 3, tzinfo=UTC)
            yield item

    report = typed.run(tmp_path)
    frame = report.to_pandas()
    assert list(frame) == list(Typed.model_fields) and len(frame) == report.overview.stored.items > 2
    dtypes = {
        "stock": "Int64",
        "rating": "float64",
        "new": "boolean",
        "on": "datetime64[s]",
        "at": "datetime64[us, UTC]",
    }
    assert {name: str(frame[name].dtype) for name in dtypes} == dtypes
    assert isinstance(frame["price"][0], Decimal) and frame["price"].sum() == sum(frame["price"])
    assert frame["parts"][0] == [frame["price"][0]] and frame["same"][0] == {"title": frame["title"][0]}
    assert frame["stock"].isna()[0] and frame["stock"].sum() == sum(range(len(frame)))
    assert frame["on"][1].year == 1500 and frame["at"][1].hour == 3
    pages = report.to_pandas("pages")
    assert str(pages["status"].dtype) == "Int64" and str(pages["fetched_at"].dtype) == "datetime64[ms, UTC]"


def test_a_data_frame_without_items_has_all_columns(site: Running, tmp_path: Path) -> None:
    @spider(site.url(), rate=0, allow_private=True)
    def nothing(page: Page) -> Iterator[Any]:
        yield from page.each("article.nowhere", Typed)

    frame = nothing.run(tmp_path).to_pandas()
    assert list(frame) == list(Typed.model_fields) and len(frame) == 0 and str(frame["stock"].dtype) == "Int64"


def test_values_of_plain_mappings_and_huge_numbers_stay_what_they_are(site: Running, tmp_path: Path) -> None:
    class Huge(Item):
        number: int

    @spider(site.url(), rate=0, allow_private=True)
    def plain(page: Page) -> Iterator[Any]:
        yield {"n": 1, "text": "a"}
        yield Huge(number=2**70)

    frame = plain.run(tmp_path).to_pandas()
    assert list(frame["number"].dropna()) == [2**70] and list(frame["n"].dropna()) == [1]


def test_an_interrupted_job_is_continued_by_name(shop: Spider, tmp_path: Path) -> None:
    # So slow that it cannot be done before it is interrupted.
    stream = shop.stream(tmp_path, rate=0.5)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    first = shop.run(tmp_path, resume="shop", rate=0)
    assert first.overview.state == "done"
    assert len(list(first.items())) == first.overview.stored.items > 10
    with pytest.raises(UsageError, match="is done: there is nothing to resume here"):
        shop.run(tmp_path, resume="shop")
    with pytest.raises(UsageError, match="is done: there is nothing to resume here"):
        shop.run(tmp_path, resume="shop", rate=1)
    with pytest.raises(UsageError, match="keeps some of its options: leave allow_private out"):
        shop.run(tmp_path, resume="shop", allow_private=True)
    with pytest.raises(UsageError, match="did you mean 'shop'"):
        shop.run(tmp_path, resume="shopp")


def test_a_job_that_a_limit_ended_continues_with_a_higher_one(shop: Spider, tmp_path: Path) -> None:
    first = shop.run(tmp_path, max_pages=1)
    assert (first.overview.state, first.overview.stored.pages) == ("limited", 1)
    with pytest.raises(UsageError, match=r"is limited .*: give a higher limit, such as max_pages"):
        shop.run(tmp_path, resume="shop")
    with pytest.raises(UsageError, match="limit"):
        shop.run(tmp_path, resume="shop", max_pages=1)
    with pytest.raises(UsageError, match="max_pages is 0; give a whole number"):
        shop.run(tmp_path, resume="shop", max_pages=0)
    second = shop.run(tmp_path, resume="shop", max_pages=2, rate=0)
    assert second.overview.job.id == first.overview.job.id
    assert (second.overview.state, second.overview.stored.pages) == ("limited", 2)


async def test_a_report_prints_its_main_figures(shop: Spider, tmp_path: Path) -> None:
    report = shop.run(tmp_path, max_pages=1)
    words = f"<Report of shop ({report.overview.job.id}): limited, pages=1, items=8, dead=0, seconds="
    assert str(report).startswith(words) and repr(report) == str(report) and len(str(report)) < 120


def test_progress_is_a_line_that_writes_over_itself(
    shop: Spider, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run(tmp_path / "silent")
    assert capsys.readouterr().err == ""
    report = shop.run(tmp_path / "told", progress=True)
    said = capsys.readouterr().err
    last = said.rstrip("\n").split("\r")[-1].rstrip()
    assert last == f"job {report.overview.job.id}: {report.overview.stored.pages} pages, 0 queued"
    notebook = ModuleType("IPython")
    notebook.get_ipython = lambda: type("Shell", (), {"kernel": 1})()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    shop.run(tmp_path / "notebook")
    assert "pages, 0 queued" in capsys.readouterr().err
