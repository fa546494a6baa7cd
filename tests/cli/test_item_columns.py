"""The columns of items follow from their types: two runs are one dataset, and an empty run has all columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from shoal.practice import Running
from tests.cli.conftest import Shell

SPIDER = """
from decimal import Decimal
from shoal import Item, Page, Url, css, spider

class Link(Item):
    text: str = css("a")

class Book(Item):
    title: str = css("h3 a")
    price: Decimal = css(".price_color", precision=(12, 2))
    old: Decimal | None = css(".old")
    page: Url | None = css("h3 a::attr(href)")
    links: list[Link] = css("h3")

@spider("{url}", allow_private=True, rate=0)
def books(page: Page):
    yield from page.each("{selector}", Book)
    yield from page.follow("li.next a")
"""
LINK: pa.DataType = pa.struct([("text", pa.string())])
FIELDS: dict[str, pa.DataType] = {
    "title": pa.string(),
    "price": pa.decimal128(12, 2),
    "old": pa.decimal128(38, 9),
    "page": pa.string(),
    "links": pa.list_(LINK),
}
SCHEMA = pa.schema(FIELDS)


def crawl(shoal: Shell, site: Running, selector: str, output: str) -> None:
    text = SPIDER.replace("{url}", site.url()).replace("{selector}", selector)
    (shoal.folder / "books.py").write_text(text)
    ran = shoal("crawl", "books.py", "--json", "-o", output)
    assert ran.summary["state"] == "done", ran.err


def test_two_runs_are_one_dataset_even_if_one_of_them_finds_nothing(shoal: Shell, site: Running) -> None:
    crawl(shoal, site, "article", "first.parquet")
    crawl(shoal, site, ".no-such-class", "second.parquet")
    first, second = (pq.read_table(shoal.folder / f"{name}.parquet") for name in ("first", "second"))
    assert first.schema.equals(SCHEMA) and second.schema.equals(SCHEMA)
    assert (first.num_rows > 0, second.num_rows) == (True, 0)
    both = ds.dataset([str(shoal.folder / f"{name}.parquet") for name in ("second", "first")]).to_table()
    assert both.to_pylist() == first.to_pylist()
    assert first["links"].to_pylist()[0] == [{"text": first["title"].to_pylist()[0]}]


def test_an_empty_run_has_a_csv_header(shoal: Shell, site: Running) -> None:
    crawl(shoal, site, ".no-such-class", "books.csv")
    assert (shoal.folder / "books.csv").read_text().splitlines() == [",".join(SCHEMA.names)]
