"""Spiders from outside: a file goes in, rows come out, and whatever is wrong with the file is told with its place."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.practice import Running
from tests.cli.conftest import Ran, Shell
from tests.cli.crawling import until

BOOKS = """\
from decimal import Decimal
from shoal import Item, Page, css, spider

class Book(Item):
    title: str = css("h1")
    price: Decimal | None = css(".price_color")

@spider("{url}", allow_private=True)
def books(page: Page):
    yield from page.follow("nav a, li.next a")
    yield from page.follow("h3 a", to=detail)

@books.callback
def detail(page: Page):
    yield page.item(Book)
"""
API = """\
from datetime import date
from decimal import Decimal
from shoal import Item, Page, jsonpath, spider

class Book(Item, key="upc"):
    upc: str = jsonpath("$.upc")
    price: Decimal = jsonpath("$.price")
    added: date = jsonpath("$.added")

@spider("{url}api/products", allow_private=True)
def books(page: Page):
    yield from page.each("$.products[*]", Book)
    if page.data["next"]:
        yield page.request(page.data["next"])
"""
FORMULAS = """\
from shoal import Page, spider

@spider("{url}", allow_private=True)
def books(page: Page):
    for text in ["=1+1", "+1+1", "-1+x", "@SUM(A1)", "\\t=1", "\\r=1"]:
        yield {"cell": text}
"""
ONE_PAGE = """\
import json
import prices
from shoal import Page, spider

@spider("{url}", allow_private=True)
def books(page: Page):
"""
PRODUCTS = 12
"""That the fixture's site has."""


def write(shoal: Shell, site: Running, text: str = BOOKS) -> None:
    (shoal.folder / "books.py").write_text(text.replace("{url}", site.url()))


def change(shoal: Shell, old: str, new: str) -> None:
    path = shoal.folder / "books.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def crawl(shoal: Shell, *options: str) -> Ran:
    return shoal("crawl", "books.py", "--rate", "0", "--json", *options)


def items(shoal: Shell) -> list[dict[str, Any]]:
    return shoal("items", "last", "--json").lines


def test_parquet_has_decimals_as_decimals_and_dates_as_dates(shoal: Shell, site: Running) -> None:
    write(shoal, site, API)
    ran = crawl(shoal, "-o", "books.parquet")
    assert (ran.code, ran.summary["items"], ran.summary["pages"]) == (0, PRODUCTS, 2)
    table = pq.read_table(shoal.folder / "books.parquet")
    assert table.schema.names == ["upc", "price", "added"]
    assert pa.types.is_decimal(table.schema.field("price").type) and pa.types.is_date(table.schema.field("added").type)
    first = table.to_pylist()[0]
    assert (first["price"], first["added"]) == (decimal.Decimal("28.00"), datetime.date(2025, 1, 1))


def test_a_callback_that_fails_is_told_once_with_its_place(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    change(shoal, "    yield page.item(Book)\n", "    raise RuntimeError(page.title)\n")
    ran = crawl(shoal)
    (error,) = (line for line in ran.lines if line["type"] == "error")
    assert ran.code == 3 and ran.summary["dead"] == error["count"] == PRODUCTS
    assert ran.summary["no_items"] == f"the spider failed on {PRODUCTS} pages"
    letters = shoal("dead", "last", "--json").lines
    place = f"(books.py:{_line_of(shoal, 'raise')})"
    assert all(letter["reason"] == "callback" for letter in letters) and len(letters) == PRODUCTS
    assert all("books.detail: RuntimeError" in letter["detail"] and place in letter["detail"] for letter in letters)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('json.loads("free")', "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (books.py:7)"),
        ("prices.read()", "KeyError: 'PRICES' (prices.py:4)"),
        ("yield 5", "TypeError: it yielded int 5: yield items, mappings or requests"),
    ],
)
def test_a_spider_that_fails_on_its_only_page_is_told_with_its_own_line(
    shoal: Shell, site: Running, line: str, told: str
) -> None:
    (shoal.folder / "prices.py").write_text('import os\n\ndef read():\n    return os.environ["PRICES"]\n')
    write(shoal, site, f"{ONE_PAGE}    {line}\n")
    ran = crawl(shoal)
    (error,) = (each for each in ran.lines if each["type"] == "error")
    assert error["sample"] == f"{site.url()}: books.books: {told}"
    why = "the spider failed on every page that was fetched"
    assert ran.code == 4 and ran.lines[-1]["message"] == why and why in shoal("job", "last").out


def test_quiet_leaves_the_errors_of_a_spider_that_fails_on_every_page(shoal: Shell, site: Running) -> None:
    (shoal.folder / "prices.py").touch()
    write(shoal, site, f"{ONE_PAGE}    prices.read()\n")
    ran = shoal("crawl", "books.py", "--quiet")
    first, *_, last = ran.err.splitlines()
    assert (ran.code, ran.out, first) == (4, "", "errors:")
    assert last == "error: the spider failed on every page that was fetched" and "AttributeError" in ran.err


def test_once_the_file_is_mended_a_retry_makes_the_job_whole(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    change(shoal, "    yield page.item", "    assert 'Blue' not in page.title\n    yield page.item")
    dead = crawl(shoal).summary["dead"]
    assert 0 < dead < PRODUCTS and len(items(shoal)) == PRODUCTS - dead
    change(shoal, "    assert 'Blue' not in page.title\n", "")
    asked = len(site.log())
    assert shoal("dead", "last", "--retry").code == 0
    resumed = shoal("resume", "last", "--json").summary
    assert (resumed["state"], resumed["dead"], resumed["items"]) == ("done", 0, PRODUCTS)
    assert len(items(shoal)) == PRODUCTS and len(site.log()) - asked <= dead + 1, "those, and perhaps robots.txt"


def test_failing_callbacks_count_in_the_failure_rate(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    change(shoal, "    yield page.item(Book)\n", "    raise RuntimeError\n")
    assert crawl(shoal, "--max-failure-rate", "0.9", "--allow-empty").code == 0
    ran = crawl(shoal, "--max-failure-rate", "0.1")
    assert (ran.code, ran.summary["state"]) == (3, "failed")


@pytest.mark.parametrize("option", ["--max-null-share", "--max-change"])
def test_a_selector_that_broke_fails_the_second_run(shoal: Shell, site: Running, option: str) -> None:
    write(shoal, site)
    assert crawl(shoal, option, "0.2").code == 0
    change(shoal, ".price_color", ".prices")
    ran = crawl(shoal, option, "0.2")
    assert (ran.code, ran.summary["state"], ran.summary["items"]) == (3, "failed", PRODUCTS)
    assert "Book.price is empty in 100.0%" in shoal("job", "last").out


def test_a_kill_in_the_middle_loses_and_doubles_no_item(shoal: Shell, site: Running) -> None:
    write(shoal, site)
    with shoal.start("crawl", "books.py", "--rate", "4", "-o", "books.jsonl") as process:
        until(lambda: any(job["items"] for job in shoal("jobs", "--json").lines))
        process.kill()
    got = len(items(shoal))
    assert 0 < got < PRODUCTS
    assert shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100").code == 0
    assert shoal("resume", "last").code == 0
    pages = [row["_url"] for row in shoal("items", "last", "--json", "--provenance").lines]
    assert len(pages) == len(set(pages)) == PRODUCTS
    assert len((shoal.folder / "books.jsonl").read_text().splitlines()) == PRODUCTS


def test_cells_that_a_spreadsheet_would_run_are_defused(shoal: Shell, site: Running) -> None:
    write(shoal, site, FORMULAS)
    assert crawl(shoal, "-o", "books.csv").code == 0
    with (shoal.folder / "books.csv").open(newline="") as file:
        written = [row["cell"] for row in csv.DictReader(file)]
    assert written == ["'=1+1", "'+1+1", "'-1+x", "'@SUM(A1)", "'\t=1", "'\r=1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from shoal import spider\n\ndef books(:\n", "(line 3)"),
        ("from shoal import css\n\ncss('p[')\n", "p["),
        ("\nimport shoal.nowhere\n", "(line 2)"),
        ("from shoal import spider\n", "no spider"),
        (BOOKS + "\n@spider('{url}')\ndef more(page): ...\n", "several spiders (books, more)"),
    ],
)
def test_a_file_that_is_no_spider_is_told_before_any_request(shoal: Shell, site: Running, text: str, said: str) -> None:
    write(shoal, site, text)
    ran = shoal("crawl", "books.py", "--allow-private")
    assert ran.code == 2 and said in ran.err and "books.py" in ran.err and "Traceback" not in ran.err
    assert not site.log() and not shoal.home.exists()


def _line_of(shoal: Shell, word: str) -> int:
    lines = (shoal.folder / "books.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_rules_read_the_page_its_url_and_the_columns_of_a_list(shoal: Shell, site: Running) -> None:
    fields = "{title: h3, shop: {css: h1, from: page}, at: {page: url}, sku: {input: sku, default: none}}"
    rules = f"start: {site.url('/about.html')}\nitems: [{{each: article, fields: {fields}}}]\n"
    (shoal.folder / "shop.yaml").write_text(rules)
    (shoal.folder / "list.csv").write_text(f"sku,url\n77,{site.url()}\n")
    assert shoal.crawl("shop.yaml", "@list.csv", "--column", "url", "-o", "items.jsonl").code == 0
    items = [json.loads(line) for line in (shoal.folder / "items.jsonl").read_text().splitlines()]
    assert len(items) > 3
    assert {(item["shop"], item["at"], item["sku"]) for item in items} == {("Pebble & Pine No. 1", site.url(), "77")}
