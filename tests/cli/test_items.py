from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq
import pytest

from shoal.embedded.home import Home
from shoal.model import ItemRecord, ItemType, JobSpec, JobState, RejectRecord
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.results.items import save_item_types
from shoal.store.results.quality import measure_quality
from tests.cli.conftest import Shell
from tests.store.make import JOB, item_record, item_type, page, url

BOOK = item_type("Book", {"title": "text", "price": "decimal", "since": "date", "tags": "list"})


def book(n: int, **values: Any) -> ItemRecord:
    fields = {"title": f"Book {n}", "price": f"{n}.50", "since": f"2024-01-{n:02}", "tags": ["new"]}
    return item_record("Book", {**fields, **values})


def keep(
    shoal: Shell,
    *items: ItemRecord,
    rejects: tuple[RejectRecord, ...] = (),
    types: tuple[ItemType, ...] = (BOOK,),
    state: JobState = JobState.DONE,
) -> None:
    """A job with a spider that gave these on one page."""
    with Home(shoal.home) as home:
        create_job(home.store, JOB, lambda: JobSpec("books", spider="books.py:books"), [], 1_700_000_000.0)
        save_item_types(home.store, JOB, types)
        save(home.store, Batch(JOB, pages=[page(1, items=list(items), rejects=list(rejects))]))
        measure_quality(home.store, JOB)
        set_state(home.store, JOB, state, 1_700_000_100.0)


def test_items_are_shown_in_a_table_of_80_columns(shoal: Shell) -> None:
    keep(shoal, book(1), book(2, title="A title far too long to be shown in one cell of a table"))
    ran = shoal("items", "last")
    header, first, second = ran.out.splitlines()
    assert (ran.code, header.split()) == (0, ["title", "price", "since", "tags"])
    assert first.split() == ["Book", "1", "1.50", "2024-01-01", '["new"]']
    assert "…" in second and max(map(len, ran.out.splitlines())) <= 80


def test_fields_that_do_not_fit_are_named(shoal: Shell) -> None:
    keep(shoal, item_record("dict", {f"field{n}": "x" * 22 for n in range(6)}), types=())
    header, row, also = shoal("items", "last").out.splitlines()
    assert header.split() == ["field0", "field1", "field2"]
    assert also == "also: field3, field4, field5 (--json has them)"
    assert max(map(len, (header, row, also))) <= 80


def test_each_type_has_a_table_of_its_own(shoal: Shell) -> None:
    shop = item_record("Shop", {"name": "Corner"})
    keep(shoal, book(1), shop, types=(BOOK, item_type("Shop", {"name": "text"})))
    assert [line.split()[0] for line in shoal("items", "last").out.splitlines()] == [
        *("Book:", "title", "Book"),
        *("Shop:", "name", "Corner"),
    ]
    assert shoal("items", "last", "--type", "Shop").out.splitlines() == ["name", "Corner"]
    assert shoal("items", "last", "--type", "Shop", "--json").lines == [{"_type": "Shop", "name": "Corner"}]


def test_as_json_each_item_is_its_fields_and_on_request_where_they_are_from(shoal: Shell) -> None:
    keep(shoal, book(1), book(2))
    assert shoal("items", "last", "--json").lines == [book(1).data, book(2).data]
    (with_origin,) = shoal("items", "last", "--json", "--provenance", "--limit", "1").lines
    assert with_origin == {**book(1).data, "_url": url(1), "_page": f"{1:016x}", "_type": "Book"}


def test_a_limit_leaves_later_items_out_and_says_so(shoal: Shell) -> None:
    keep(shoal, *(book(n) for n in range(1, 6)))
    ran = shoal("items", "last", "--limit", "2")
    assert len(ran.out.splitlines()) == 1 + 2 and "the first 2" in ran.err


def test_rejects_are_grouped_by_reason_most_frequent_first(shoal: Shell) -> None:
    rejects = [RejectRecord("Book", {"title": "T"}, "price: nothing matches '.price'")]
    rejects += [
        RejectRecord("Book", {"price": f"soon {n}"}, f"price: 'soon {n}' is no Decimal: no digit") for n in range(7)
    ]
    keep(shoal, rejects=tuple(rejects))
    lines = shoal("items", "last", "--rejected").out.splitlines()
    assert lines[0] == "Book: price: it is no Decimal: no digit: 7 rejected"
    assert lines[1:4] == [f"  {url(1)}", "    price: 'soon 0' is no Decimal: no digit", '    {"price": "soon 0"}']
    assert "  and 2 more: --json lists all" in lines
    assert "Book: price: nothing matches '.price': 1 rejected" in lines
    shortened = shoal("items", "last", "--rejected", "--limit", "1").out.splitlines()
    assert shortened[0] == lines[0] and "  and 6 more: --json lists all" in shortened
    assert len(shoal("items", "last", "--rejected", "--json").lines) == 8


def test_without_items_the_command_says_so(shoal: Shell) -> None:
    keep(shoal)
    assert "no items to show" in shoal("items", "last").err
    assert "nothing was rejected" in shoal("items", "last", "--rejected").err


def test_a_job_without_a_spider_says_that_it_has_no_items(shoal: Shell) -> None:
    with Home(shoal.home) as home:
        create_job(home.store, JOB, lambda: JobSpec("pages"), [], 1_700_000_000.0)
    ran = shoal("items", "last")
    assert ran.err == f"job {JOB} has no spider or rules, so no items; its pages: shoal pages {JOB}\n"


def test_a_hostile_item_cannot_command_the_terminal(shoal: Shell) -> None:
    evil = "\x1b]0;owned\x07\u202e"
    rejects = (RejectRecord(evil, {evil: evil}, evil),)
    keep(shoal, item_record("dict", {evil: evil}), item_record(evil, {"v": evil}), rejects=rejects, types=())
    for ran in (shoal("items", "last"), shoal("items", "last", "--rejected"), shoal("job", "last")):
        assert ran.code == 0 and all(char.isprintable() for char in ran.out.replace("\n", ""))


@pytest.mark.parametrize("options", [(), ("--items",)])
def test_items_are_what_a_job_with_a_spider_exports(shoal: Shell, options: tuple[str, ...]) -> None:
    keep(shoal, book(1), book(2, title="=1+1", price=None))
    for ending in ("jsonl", "csv", "parquet"):
        assert shoal("export", "last", *options, "-o", f"out.{ending}").code == 0
    lines = [json.loads(line) for line in (shoal.folder / "out.jsonl").read_text().splitlines()]
    assert lines[0] == book(1).data
    with (shoal.folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["title"] for row in rows] == ["Book 1", "'=1+1"]
    first, second = pq.read_table(shoal.folder / "out.parquet").to_pylist()
    assert first == {"title": "Book 1", "price": Decimal("1.50"), "since": date(2024, 1, 1), "tags": ["new"]}
    assert (second["title"], second["price"]) == ("=1+1", None)


def test_the_pages_of_a_job_with_a_spider_are_exported_when_asked_for(shoal: Shell) -> None:
    keep(shoal, book(1))
    (found,) = shoal("export", "last", "--pages", "-o", "-").lines
    assert found["url"] == url(1)


def test_a_job_shows_its_items_rejects_and_their_quality(shoal: Shell) -> None:
    keep(shoal, book(1), book(2, price=None), rejects=(RejectRecord("Book", {}, "empty"),))
    shown = shoal("job", "last").out.splitlines()
    assert "  items       2, 1 rejected" in shown
    assert "Book: 2 items" in shown
    assert next(line.split() for line in shown if "price" in line) == ["price", "50.0%", "1", "1.50", "1.50", "–"]


def test_an_unfinished_job_shows_no_quality(shoal: Shell) -> None:
    keep(shoal, book(1), state=JobState.INTERRUPTED)
    assert "distinct" not in shoal("job", "last").out
