"""Listings in parts, for callers who come back for the next part.

Each row comes with its position in the listing, and a part starts after a position.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Table, and_, cast, func, or_, select, true

from shoal.model import Lane, fingerprint_hex
from shoal.store import tables
from shoal.store.database.storable_text import storable
from shoal.store.failure_trend import FailureTrend, period_s, trend_of_counts
from shoal.store.jobs import Job, job_from_row
from shoal.store.results.columns import DEAD, PAGE, Columns, iso_time
from shoal.store.results.items import TYPE_COLUMN, in_crawl_order, item_origins, time_of
from shoal.store.results.listings import Where, conditions, display_row, listing
from shoal.store.store import Store

Position = tuple[Any, ...]
"""A row's position in its listing: the values of its sort columns."""
Placed = tuple[Position, dict[str, Any]]

MOST_GROUPS = 1_000


def pages_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    return _after(store, tables.pages, PAGE, "fetched_at", (job, where, after, limit))


def dead_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    return _after(store, tables.dead, DEAD, "died_at", (job, where, after, limit))


def items_after(store: Store, job: str, where: Where, after: Position | None, limit: int) -> list[Placed]:
    """The fields of each item, with `_url`, `_page` and `_type`."""
    items = tables.items
    found: list[Placed] = []
    with store.read() as db:
        for origin in item_origins(db, job):
            order = time_of(origin), origin.c.fingerprint, items.c.ordinal
            rows = in_crawl_order(items, job, where, origin).where(_beyond(order, after)).limit(limit)
            for data, type, page, url, at, ordinal in db.execute(rows):
                about = {"_url": url, "_page": fingerprint_hex(page), TYPE_COLUMN: type}
                found.append(((at, page, ordinal), {**json.loads(data), **about}))
    return sorted(found, key=itemgetter(0))[:limit]


def jobs_after(
    store: Store, where: Where, after: Position | None, limit: int, *, fleet_only: bool = True
) -> list[tuple[Position, Job]]:
    """Newest first; `where` may name `state`, `lane`, `name` and `owner`."""
    jobs = tables.jobs
    wanted = select(jobs).where(jobs.c.fleet if fleet_only else true(), *_of_jobs(where))
    if after is not None:
        at, id = after
        wanted = wanted.where(or_(jobs.c.created_at < at, and_(jobs.c.created_at == at, jobs.c.id < id)))
    newest_first = wanted.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
    with store.read() as db:
        return [((row.created_at, row.id), job_from_row(row)) for row in db.execute(newest_first)]


GROUPED_BY = ("reason", "status", "host")
"""How people look at dead letters."""


def dead_groups(store: Store, job: str, where: Where, by: Sequence[str]) -> list[dict[str, Any]]:
    """Groups of dead letters with equal values in these columns, most frequent first, with sample URLs and a trend."""
    dead = tables.dead
    columns = [dead.c[name] for name in by]
    n, first, last = func.count(), func.min(dead.c.died_at), func.max(dead.c.died_at)
    samples = func.min(dead.c.url), func.max(dead.c.url)
    groups = select(*columns, n, first, last, *samples).where(*conditions(dead, job, where)).group_by(*columns)
    with store.read() as db:
        rows = db.execute(groups.order_by(n.desc(), *columns).limit(MOST_GROUPS)).all()
        hosts = {row.host for row in rows} if "host" in by else None
        trends = _trends(db, job, where, columns, hosts)
    return [
        {
            **dict(zip(by, row, strict=False)),
            "count": row[-5],
            "first_at": iso_time(row[-4]),
            "last_at": iso_time(row[-3]),
            "trend": trends[tuple(row[:-5])].record,
            "samples": list(dict.fromkeys(row[-2:])),
        }
        for row in rows
    ]


def _trends(
    db: Connection, job: str, where: Where, columns: Sequence[Column[Any]], hosts: Collection[str] | None
) -> dict[tuple[Any, ...], FailureTrend]:
    """By the values of these columns. Only of these hosts, of which a job may have many more than are shown."""
    dead = tables.dead
    these = conditions(dead, job, where)
    first, last = db.execute(select(func.min(dead.c.died_at), func.max(dead.c.died_at)).where(*these)).one()
    seconds = period_s(0.0 if first is None else last - first)
    # In whole milliseconds: PostgreSQL rounds.
    nth = cast(dead.c.died_at * 1000, BigInteger) // (seconds * 1000)
    counts = select(*columns, nth.label("period"), func.count()).where(*these).group_by(*columns, "period")
    if hosts is not None:
        counts = counts.where(dead.c.host.in_(hosts))
    found: dict[tuple[Any, ...], dict[int, int]] = {}
    for *group, period, n in db.execute(counts):
        found.setdefault(tuple(group), {})[period] = n
    return {group: trend_of_counts(periods, seconds) for group, periods in found.items()}


def _after(store: Store, table: Table, columns: Columns, happened: str, query: tuple[Any, ...]) -> list[Placed]:
    job, where, after, limit = query
    order = table.c[happened], table.c.fingerprint
    rows = listing(table, columns, job, where).order_by(table.c.fingerprint).add_columns(*order)
    with store.read() as db:
        found = db.execute(rows.where(_beyond(order, after)).limit(limit)).all()
    return [(tuple(row[-2:]), display_row(columns, row)) for row in found]


def _beyond(order: Sequence[Column[Any]], after: Position | None) -> ColumnElement[bool]:
    if after is None:
        return true()
    beyond = [
        and_(*(column == value for column, value in zip(order[:place], after[:place], strict=True)), column > value)
        for place, (column, value) in enumerate(zip(order, after, strict=True))
    ]
    # The first column once more by itself, because only that condition uses an index.
    return and_(order[0] >= after[0], or_(*beyond))


def _of_jobs(where: Where) -> list[ColumnElement[bool]]:
    jobs = tables.jobs
    found = [jobs.c[name] == storable(where[name]) for name in ("state", "name", "owner") if name in where]
    if "lane" in where:
        # The lane is only in the spec, which is JSON of our own making.
        found.append(jobs.c.spec.contains(f'"lane": "{Lane(where["lane"])}"', autoescape=True))
    return found
