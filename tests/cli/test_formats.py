from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Here, Shell

ALL = ("metadata", "main", "markdown", "page_markdown", "tables")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Running]]:
    """A job with every format."""
    shoal = Here(tmp_path_factory.mktemp("formats"))
    with running(Shop(hosts=1, categories=2, products=12, troubled=False)) as site:
        asked = ("--formats", "tables,main", "--formats", "markdown,page_markdown,metadata")
        shoal.crawl(site.url(), *asked, "-o", "pages.jsonl")
        yield shoal, site


def rows(shoal: Shell) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shoal.folder / "pages.jsonl").read_text().splitlines()]


def test_every_page_has_its_formats_and_its_content(shop: tuple[Shell, Running]) -> None:
    shoal, _ = shop
    found = rows(shoal)
    assert all(tuple(row)[-5:] == ALL for row in found)
    product = next(row for row in found if "/product/" in row["url"])
    (table,) = product["tables"]
    assert {row[0] for row in table["rows"]} >= {"UPC", "Price"}
    assert product["metadata"]["language"] == "en-GB"
    assert product["markdown"].count("# ") and product["main"]
    assert len(product["markdown"]) < len(product["page_markdown"])
    assert product["text"] and product["links"]


def test_pages_without_content_have_empty_formats(shop: tuple[Shell, Running]) -> None:
    feed = next(row for row in rows(shop[0]) if row["url"].endswith("/feed.xml"))
    assert [feed[name] for name in ALL] == [None] * 5


def test_csv_and_parquet_store_formats_as_json(shop: tuple[Shell, Running]) -> None:
    shoal, _ = shop
    for ending in ("csv", "parquet"):
        assert shoal("export", "last", "-o", f"pages.{ending}", "--overwrite").code == 0
    with (shoal.folder / "pages.csv").open(newline="") as file:
        cells = [row["tables"] for row in csv.DictReader(file)]
    groups = [row["tables"] for row in pq.read_table(shoal.folder / "pages.parquet").to_pylist()]
    wanted = [row["tables"] for row in shoal("export", "last", "-o", "-").lines]
    assert [json.loads(cell) if cell else None for cell in cells] == wanted
    assert [None if group is None else json.loads(group) for group in groups] == wanted


def test_only_requested_formats_are_stored(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1", "--formats", "main", "-o", "pages.jsonl")
    (row,) = rows(shoal)
    assert row["main"] and not {"metadata", "markdown", "tables"} & row.keys()
    shoal.crawl(site.url(), "--max-pages", "1", "-o", "pages.jsonl", "--overwrite")
    assert not set(ALL) & rows(shoal)[0].keys()


def test_an_unknown_format_is_refused_before_any_request(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--formats", "main,pdf")
    assert ran.code == 2 and "'pdf'" in ran.err and "markdown" in ran.err
    assert site.log() == [] and not shoal.home.exists()


def test_a_format_that_is_not_installed_is_refused_before_any_request(shoal: Shell, site: Running) -> None:
    (shoal.folder / "sitecustomize.py").write_text("import sys\nsys.modules['html_to_markdown'] = None\n")
    without = {"PYTHONPATH": str(shoal.folder)}
    ran = Shell(shoal.folder)("crawl", site.url(), "--allow-private", "--formats", "markdown", env=without)
    assert ran.code == 2 and "pip install 'shoal[text]'" in ran.err
    assert site.log() == [] and not shoal.home.exists()


def test_without_text_only_records_are_stored_and_links_are_still_followed(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "5", "--no-text", "-o", "pages.jsonl")
    found = rows(shoal)
    assert len(found) == 5 and all(row["title"] for row in found if row["content_type"] == "text/html")
    assert all((row["text"], row["links"]) == (None, None) for row in found)


def test_formats_without_text_are_refused(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--formats", "main", "--no-text")
    assert ran.code == 2 and "--no-text" in ran.err
