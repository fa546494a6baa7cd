"""Sinks that are tables, against real databases."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.crawl.sink_state import hold_sink, list_refused, retry_refused
from shoal.store.results.items import save_item_types
from shoal.store.store import Store
from tests.sinks.feeding import (
    BOOK,
    KEY,
    as_json,
    book,
    drain,
    execute,
    job_with_sink,
    opened,
    rows_of,
    save_page,
    status,
    titles,
)
from tests.sinks.mariadb_server import MariadbServer
from tests.store.make import JOB, dead_letter, item_type
from tests.store.postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "database", "mysql_database"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'items.db'}?table=books"
    return f"{request.getfixturevalue(request.param)}?table=books"


def test_items_are_rows(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b", "k"))
    assert (status(store).behind, status(store).delivered) == (2, 0)
    drain(store, opened(url))
    by_id = {row["_id"]: row for row in rows_of(url, "books")}
    assert by_id.keys() == {"k", f"{JOB}/{1:016x}/0"}
    assert (by_id["k"]["title"], Decimal(by_id["k"]["price"]), by_id["k"]["stock"]) == ("b", Decimal("9.50"), 3)
    assert (by_id["k"]["_job"], by_id["k"]["_url"]) == (JOB, "https://site.test/1")
    assert (status(store).behind, status(store).delivered) == (0, 2)


def test_replaced_items_are_replaced_and_removed_ones_are_deleted(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"), book("b", "2"), book("c"))
    drain(store, opened(url))
    save_page(store, 1, 2, book("a2", "1"))
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["a2"]


def test_items_of_a_page_that_is_dead_now_are_deleted(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    drain(store, opened(url))
    save(store, Batch(JOB, dead=[dead_letter(1, 2)], has_sinks=True))
    drain(store, opened(url))
    assert rows_of(url, "books") == []


def test_an_item_that_moved_to_another_page_stays(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "k"))
    drain(store, opened(url))
    save_page(store, 1, 2)
    save_page(store, 2, 3, book("moved", "k"))
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["moved"]


def test_a_batch_that_is_delivered_twice_is_there_once(store: Store, url: str) -> None:
    """The process was killed after the destination's commit and before the cursor moved."""
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b", "k"))
    drain(store, opened(url))
    with store.write() as db:
        db.exec_driver_sql("UPDATE sinks SET cursor = '{}', delivered = 0, batch = 0")
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["a", "b"]


def test_every_type_has_its_column(store: Store, url: str) -> None:
    fields = {
        "at": "datetime",
        "day": "date",
        "ok": "boolean",
        "weight": "number",
        "tags": {"list": "text"},
        "seller": {"object": {"name": "text"}},
        "none": "integer",
    }
    values = {
        "at": "2026-05-01T10:00:00+02:00",
        "day": "2026-05-01",
        "ok": True,
        "weight": 1.5,
        "tags": ["a", "b"],
        "seller": {"name": "X"},
        "none": None,
    }
    job_with_sink(store, url, item_type("Thing", fields))
    save_page(store, 1, 1, {"type": "Thing", "data": values, "key": "k"})
    drain(store, opened(url))
    [row] = rows_of(url, "books")
    at = row["at"] if isinstance(row["at"], datetime) else datetime.fromisoformat(row["at"])
    # MySQL's times have no zone: they are UTC.
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    day = row["day"] if isinstance(row["day"], date) else date.fromisoformat(row["day"])
    assert (at, day) == (datetime(2026, 5, 1, 8, tzinfo=UTC), date(2026, 5, 1))
    assert (bool(row["ok"]), row["weight"], row["none"]) == (True, 1.5, None)
    assert (as_json(row["tags"]), as_json(row["seller"])) == (["a", "b"], {"name": "X"})


def test_several_types_go_to_several_tables(store: Store, url: str) -> None:
    author = item_type("BookAuthor", {"name": "text"})
    job_with_sink(store, url, BOOK, author)
    save_page(store, 1, 1, book("a"), {"type": "BookAuthor", "data": {"name": "X"}, "key": None})
    save_page(store, 2, 1, {"type": "dict", "data": {"plain": [1, 2]}, "key": None})
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["a"]
    assert [row["name"] for row in rows_of(url, "books_book_author")] == ["X"]
    assert [as_json(row["plain"]) for row in rows_of(url, "books_dict")] == [[1, 2]]


def test_the_first_item_of_another_type_repeats_no_delivery(store: Store, url: str) -> None:
    job_with_sink(store, url, BOOK, item_type("BookAuthor", {"name": "text"}))
    save_page(store, 1, 1, book("a"))
    drain(store, opened(url))
    execute(url, "DELETE FROM books")
    save_page(store, 2, 1, {"type": "BookAuthor", "data": {"name": "X"}, "key": None})
    drain(store, opened(url))
    assert [row["name"] for row in rows_of(url, "books_book_author")] == ["X"] and not rows_of(url, "books")


def test_a_type_that_grows_gets_more_columns(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"))
    drain(store, opened(url))
    save_item_types(store, JOB, [item_type("Book", {"isbn": "text"})])
    save_page(store, 2, 1, book("b", "2", isbn="978"))
    drain(store, opened(url))
    assert [row["isbn"] for row in rows_of(url, "books")] == [None, "978"]


def test_a_column_of_another_type_is_refused_clearly(store: Store, url: str) -> None:
    execute(url, "CREATE TABLE books (title text, stock date)")
    job_with_sink(store, url)
    destination = opened(url)
    with pytest.raises(UsageError, match=r"column stock of table books is (date|DATE), but the field of Book is int"):
        destination.prepare([BOOK])
    destination.close()


def test_a_table_of_the_user_gets_what_it_lacks(store: Store, url: str) -> None:
    execute(url, "CREATE TABLE books (title text, note text)")
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"))
    drain(store, opened(url))
    drain(store, opened(url))
    assert [(row["title"], row["note"], row["stock"]) for row in rows_of(url, "books")] == [("a", None, 3)]


def test_a_refused_item_is_put_aside_and_the_others_arrive(store: Store, url: str) -> None:
    execute(url, "CREATE TABLE books (_id varchar(200) PRIMARY KEY, title text, stock bigint CHECK (stock > 0))")
    job_with_sink(store, url)
    save_page(store, 1, 1, *(book(f"b{n}", str(n), stock=-1 if n == 4 else n + 1) for n in range(8)))
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == [f"b{n}" for n in range(8) if n != 4]
    [refused] = list_refused(store, JOB, {})
    assert refused["data"]["title"] == "b4" and "constraint" in refused["reason"].lower()
    assert (status(store).refused, status(store).behind) == (1, 0)


def test_refused_items_are_tried_again_after_mending(store: Store, url: str) -> None:
    execute(url, "CREATE TABLE books (_id varchar(200) PRIMARY KEY, title text CHECK (title <> 'bad'))")
    job_with_sink(store, url)
    save_page(store, 1, 1, book("bad", "1"), book("good", "2"))
    drain(store, opened(url))
    retry_refused(store, JOB)
    drain(store, opened(url))
    assert status(store).refused == 1
    execute(url, "DROP TABLE books")
    retry_refused(store, JOB)
    drain(store, opened(url))
    assert (titles(rows_of(url, "books")), status(store).refused) == (["bad", "good"], 0)


def test_a_refused_item_that_is_replaced_is_no_longer_refused(store: Store, url: str) -> None:
    execute(url, "CREATE TABLE books (_id varchar(200) PRIMARY KEY, title text CHECK (title <> 'bad'))")
    job_with_sink(store, url)
    save_page(store, 1, 1, book("bad", "1"))
    drain(store, opened(url))
    save_page(store, 1, 2, book("good", "1"))
    drain(store, opened(url))
    assert (titles(rows_of(url, "books")), status(store).refused) == (["good"], 0)


def test_a_table_that_was_dropped_is_filled_again(store: Store, url: str) -> None:
    job_with_sink(store, url)
    destination = opened(url)
    feed = SinkDelivery(store, KEY, destination)
    for n in range(3):
        save_page(store, n, 1, book(f"b{n}"))
        while feed.step() is Step.DELIVERED:
            pass
    execute(url, "DROP TABLE books")
    save_page(store, 3, 1, book("b3"))
    while feed.step() is Step.DELIVERED:
        pass
    feed.close()
    assert titles(rows_of(url, "books")) == ["b0", "b1", "b2", "b3"]
    execute(url, "DROP TABLE books")
    save_page(store, 4, 1, book("b4"))
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["b0", "b1", "b2", "b3", "b4"]
    assert status(store).behind == 0


def test_a_process_that_lost_its_hold_moves_nothing(store: Store, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    now = 1_000.0
    slow = SinkDelivery(store, KEY, opened(url), clock=lambda: now)
    assert slow.step() is Step.DELIVERED
    save_page(store, 2, 1, book("b"))
    assert hold_sink(store, KEY, "other", now + 61, now + 121) is not None
    slow.step()
    assert status(store).behind == 1
    assert slow.step() is Step.ELSEWHERE
    slow.close()


def test_a_server_that_is_away_delays_and_loses_nothing(store: Store, database: str, postgres: PostgresServer) -> None:
    url = f"{database}?table=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    feed = SinkDelivery(store, KEY, opened(url))
    assert feed.step() is Step.DELIVERED
    save_page(store, 2, 1, book("b"))
    with postgres.away(), pytest.raises(Unavailable, match=r"postgresql://127.0.0.1:\d+/warehouse"):
        feed.step()
    while feed.step() is Step.DELIVERED:
        pass
    feed.close()
    assert titles(rows_of(url, "books")) == ["a", "b"]


def test_mysql_that_is_away_delays_and_loses_nothing(store: Store, mysql_database: str, mariadb: MariadbServer) -> None:
    url = f"{mysql_database}?table=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    feed = SinkDelivery(store, KEY, opened(url))
    assert feed.step() is Step.DELIVERED
    save_page(store, 2, 1, book("b"))
    with mariadb.away(), pytest.raises(Unavailable, match=r"mysql://127.0.0.1:\d+/warehouse"):
        feed.step()
    while feed.step() is Step.DELIVERED:
        pass
    feed.close()
    assert titles(rows_of(url, "books")) == ["a", "b"]


def test_mysql_keeps_every_value_exactly_or_refuses_it(store: Store, mysql_database: str) -> None:
    url = f"{mysql_database}?table=books"
    execute(url, "CREATE TABLE books (title varchar(9) UNIQUE, price decimal(5,2)) CHARACTER SET utf8mb4")
    job_with_sink(store, url)
    odd = [
        book("Key", "k"),
        book("key", "K"),
        book("blank", "k "),
        book("long" * 9, "l"),
        book("cent", "c", price="0.001"),
    ]
    save_page(store, 1, 1, *odd, book("a\U0001f41f%s", "u"))
    drain(store, opened(url))
    assert titles(rows_of(url, "books")) == ["Key", "a\U0001f41f%s", "blank"]
    reasons = {refused["data"]["title"]: refused["reason"] for refused in list_refused(store, JOB, {})}
    assert reasons["key"] == "another row has the same value in a unique column"
    assert "too long" in reasons["long" * 9] and "0.001" in reasons["cent"]


def test_a_wrong_password_of_mysql_is_named_and_not_shown(store: Store, mysql_database: str) -> None:
    url = mysql_database.replace(":hush@", ":{secret:db}@")
    with pytest.raises(UsageError, match=r"Access denied .*: check the sink's URL and its secret") as caught:
        opened(f"{url}?table=books", {"db": "hu/sh@2"}).prepare([BOOK])
    assert "hu/sh" not in str(caught.value)


def test_a_wrong_password_is_named_and_not_shown(store: Store, database: str) -> None:
    url = database.replace(":hush@", ":{secret:db}@").replace("/warehouse", "/nowhere")
    with pytest.raises(UsageError, match='database "nowhere" does not exist') as caught:
        opened(f"{url}?table=books", {"db": "hu/sh@2"}).prepare([BOOK])
    assert "hu/sh" not in str(caught.value)


def test_several_items_of_one_page_use_little_memory_and_all_arrive(store: Store, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'items.db'}"
    job_with_sink(store, url)
    for n in range(30):
        save_page(store, n, 1, *(book(f"{n}-{i}") for i in range(200)))
    drain(store, opened(url))
    assert len(rows_of(url, "book")) == 6_000
