"""Listings a part at a time, each part read by itself: for callers who come back for the next.

A part begins after a position in the order of the listing; each row comes with its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, and_, func, or_, select, true

from shoal.model import Lane, fingerprint_hex
from shoal.store import tables
from shoal.store.columns import DEAD, PAGE, Columns
from shoal.store.items import TYPE_COLUMN, in_crawl_order
from shoal.store.jobs import Job, job_of
from shoal.store.records import Where, conditions, listing, shown
from shoal.store.store import Store
from shoal.store.text import storable

Position = tuple[Any, ...]
"""Of a row in its listing: the values that it is ordered by."""
Placed = tuple[Position, dict[str, Any]]

MOST_GROUPS = 1_000


def pages_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    return _after(store, tables.pages, PAGE, "fetched_at", (job, where, after, limit))


def dead_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    return _after(store, tables.dead, DEAD, "died_at", (job, where, after, limit))


def items_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    """The fields of each item, with `_url`, `_page` and `_type`."""
    pages, items = tables.pages, tables.items
    order = pages.c.fetched_at, pages.c.fingerprint, items.c.ordinal
    rows = in_crawl_order(items, job, where).add_columns(pages.c.fetched_at, items.c.ordinal)
    found: list[Placed] = []
    with store.read() as db:
        for data, type, page, url, at, ordinal in db.execute(rows.where(_beyond(order, after)).limit(limit)):
            origin = {"_url": url, "_page": fingerprint_hex(page), TYPE_COLUMN: type}
            found.append(((at, page, ordinal), {**json.loads(data), **origin}))
    return found


def jobs_after(store: Store, where: Where, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
    """The fleet's, newest first; `where` may name `state`, `lane`, `name` and `owner`."""
    jobs = tables.jobs
    wanted = select(jobs).where(jobs.c.fleet, *_of_jobs(where))
    if after is not None:
        at, id = after
        wanted = wanted.where(or_(jobs.c.created_at < at, and_(jobs.c.created_at == at, jobs.c.id < id)))
    newest_first = wanted.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
    with store.read() as db:
        return [((row.created_at, row.id), job_of(row)) for row in db.execute(newest_first)]


def dead_groups(store: Store, job: str, where: Where, by: Sequence[str]) -> list[dict[str, Any]]:
    """How many dead letters are alike in these columns, most frequent first, with some of them."""
    dead = tables.dead
    columns = [dead.c[name] for name in by]
    n, first, last = func.count(), func.min(dead.c.url), func.max(dead.c.url)
    groups = select(*columns, n, first, last).where(*conditions(dead, job, where)).group_by(*columns)
    with store.read() as db:
        rows = db.execute(groups.order_by(n.desc(), *columns).limit(MOST_GROUPS)).all()
    return [
        {**dict(zip(by, row, strict=False)), "count": row[-3], "samples": list(dict.fromkeys(row[-2:]))} for row in rows
    ]


def _after(store: Store, table: Table, columns: Columns, happened: str, asked: tuple[Any, ...]) -> list[Placed]:
    job, where, after, limit = asked
    order = table.c[happened], table.c.fingerprint
    rows = listing(table, columns, job, where).order_by(table.c.fingerprint).add_columns(*order)
    with store.read() as db:
        found = db.execute(rows.where(_beyond(order, after)).limit(limit)).all()
    return [(tuple(row[-2:]), shown(columns, row)) for row in found]


def _beyond(order: Sequence[Column[Any]], after: Position | None) -> ColumnElement[bool]:
    if after is None:
        return true()
    beyond = [
        and_(*(column == value for column, value in zip(order[:place], after[:place], strict=True)), column > value)
        for place, (column, value) in enumerate(zip(order, after, strict=True))
    ]
    # The first column by itself, because an index is looked up by it and not by the rest.
    return and_(order[0] >= after[0], or_(*beyond))


def _of_jobs(where: Where) -> list[ColumnElement[bool]]:
    jobs = tables.jobs
    found = [jobs.c[name] == storable(where[name]) for name in ("state", "name", "owner") if name in where]
    if "lane" in where:
        # Kept only in the spec, which is JSON of our own making.
        found.append(jobs.c.spec.contains(f'"lane": "{Lane(where["lane"])}"', autoescape=True))
    return found
