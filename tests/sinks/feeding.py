"""Saves items of a job and feeds its sink, as a crawl does."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
from psycopg.rows import dict_row
from pymysql.cursors import DictCursor

from shoal.model import ItemType
from shoal.sinks.destination import Destination
from shoal.sinks.open_sink import open_sink
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.crawl.sink_state import SinkKey, SinkStatus, sink_statuses
from shoal.store.results.items import save_item_types
from shoal.store.store import Store
from tests.store.make import JOB, item_record, item_type, job_with, page

KEY = SinkKey(JOB, 0)
BOOK = item_type("Book", {"title": "text", "price": "decimal(12,2)", "stock": "integer"})


def book(title: str, key: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "Book", "data": {"title": title, "price": "9.50", "stock": 3, **fields}, "key": key}


def job_with_sink(store: Store, url: str, *types: ItemType) -> None:
    job_with(store, sinks=(url,))
    save_item_types(store, JOB, types or (BOOK,))


def save_page(store: Store, n: int, token: int, *items: dict[str, Any]) -> None:
    save(store, Batch(JOB, pages=[page(n, token, items=[item_record(**one) for one in items])], has_sinks=True))


def opened(url: str, secrets: dict[str, str] | None = None) -> Destination:
    return open_sink(KEY, url, secrets or {})


def drain(store: Store, destination: Destination) -> None:
    feed = SinkDelivery(store, KEY, destination)
    try:
        while feed.step(ends=True) is Step.DELIVERED:
            pass
    finally:
        feed.close()


def status(store: Store) -> SinkStatus:
    [found] = sink_statuses(store, JOB, 1_700_000_000.0)
    return found


def rows_of(url: str, table: str) -> list[dict[str, Any]]:
    query = f'SELECT * FROM "{table}" ORDER BY _id'
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0]) as file:
            file.row_factory = sqlite3.Row
            return [dict(row) for row in file.execute(query)]
    if url.startswith("mysql"):
        with _mysql(url) as mysql, mysql.cursor(DictCursor) as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())
    with psycopg.connect(url.partition("?")[0], row_factory=dict_row) as db:
        return db.execute(query.encode()).fetchall()


def execute(url: str, *statements: str) -> None:
    if url.startswith("sqlite"):
        file = sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0], isolation_level=None)
        for statement in statements:
            file.execute(statement)
        file.close()
    elif url.startswith("mysql"):
        with _mysql(url) as mysql, mysql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    else:
        with psycopg.connect(url.partition("?")[0], autocommit=True) as db:
            for statement in statements:
                db.execute(statement.encode())


def _mysql(url: str) -> Any:
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 0,
        user=parts.username,
        password=parts.password or "",
        database=parts.path[1:],
        autocommit=True,
        sql_mode="ANSI_QUOTES",
    )


def titles(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(row["title"] for row in rows)


def as_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
