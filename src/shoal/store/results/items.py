"""The items of a job for listings and exports, and their types, which define the columns."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import Any

from sqlalchemy import Column, Connection, Select, Table, and_, func, select

from shoal.model import ItemType, fingerprint_hex
from shoal.model.field_type import TEXT, FieldType, merge_fields, type_from_json, type_to_json
from shoal.model.record import HANDLED
from shoal.store import tables
from shoal.store.database.upsert import Upsert, replace
from shoal.store.results.columns import PROVENANCE, Columns, Kind, iso_time
from shoal.store.results.infer_kinds import infer_kinds
from shoal.store.results.listings import Where, conditions, stream_rows
from shoal.store.store import Store

TYPE_COLUMN = "_type"

_UPSERT = Upsert("item_types", replace)


def save_item_types(store: Store, job: str, types: Sequence[ItemType]) -> None:
    """Adds to the known types. A job that continues with a changed spider may add types too.

    Items found before keep their fields, and a field whose kind has changed is text from then on.
    """
    with store.write() as db:
        # Locked: if several workers save the same spider's types at once, each must see what the others have added.
        db.execute(select(tables.jobs.c.id).where(tables.jobs.c.id == job).with_for_update())
        known = {one.name: one.fields for one in declared_types(db, job)}
        for one in types:
            known[one.name] = merge_fields(one.fields, known.get(one.name, {}))
        _UPSERT.write(db, [(job, name, place, _json(known[name])) for place, name in enumerate(known)])


def item_types(store: Store, job: str) -> list[ItemType]:
    """The saved types, then those of plain mappings, whose fields are inferred from the items."""
    with store.read() as db:
        return [*declared_types(db, job), *_undeclared(db, job)]


def list_items(store: Store, job: str, where: Where, provenance: bool = False) -> Iterator[dict[str, Any]]:
    """The fields of each item, in the order of the crawl; with provenance also `_url`, `_page` and `_type`."""
    with store.read() as db:
        for data, type, page, url, *_ in rows_in_crawl_order(db, tables.items, job, where):
            item: dict[str, Any] = json.loads(data)
            if provenance:
                item |= {"_url": url, "_page": fingerprint_hex(page), TYPE_COLUMN: type}
            yield item


def list_rejects(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    """Items that failed validation: type, reason, data and page."""
    with store.read() as db:
        for data, type, page, url, _, _, reason in rows_in_crawl_order(db, tables.rejects, job, where):
            found = json.loads(data)
            yield {"type": type, "reason": reason, "data": found, "url": url, "page": fingerprint_hex(page)}


class ItemTable:
    """A snapshot of a job's items: their columns, and their rows, which may be iterated over several times.

    The columns are the fields of all types in order. With several types, the first column names the type.
    """

    def __init__(
        self, db: Connection, job: str, where: Where, pages: Sequence[int] | None = None, several: bool | None = None
    ) -> None:
        """`pages` limits the rows to the items of these pages; `several` saves the search for the types."""
        self._db = db
        self._job = job
        self._where = where
        self._pages = pages
        if several is not None:
            self.several = several

    @cached_property
    def columns(self) -> Columns:
        return item_columns(declared_types(self._db, self._job), _undeclared(self._db, self._job))

    @property
    def is_declared(self) -> bool:
        """Whether all columns are known without a look at the items."""
        return bool(declared_types(self._db, self._job)) and not _undeclared_names(self._db, self._job)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (item for item, _ in self._rows())

    def with_provenance(self, spider_version: str | None) -> Iterator[dict[str, Any]]:
        """The same with the columns of PROVENANCE."""
        for item, row in self._rows():
            origin = (row.url, iso_time(row.at), self._job, spider_version)
            yield item | dict(zip(PROVENANCE, origin, strict=True))

    def _rows(self) -> Iterator[tuple[dict[str, Any], Any]]:
        several = self.several
        for row in rows_in_crawl_order(self._db, tables.items, self._job, self._where, self._pages):
            item = json.loads(row.data)
            yield {TYPE_COLUMN: row.type, **item} if several else item, row

    @cached_property
    def several(self) -> bool:
        """Whether there are several types, so that each row names its own."""
        return len(declared_types(self._db, self._job)) + len(_undeclared_names(self._db, self._job)) > 1


@contextmanager
def item_table(
    store: Store, job: str, where: Where, pages: Sequence[int] | None = None, several: bool | None = None
) -> Iterator[ItemTable]:
    with store.read() as db:
        yield ItemTable(db, job, where, pages, several)


def count_items(store: Store, job: str) -> int:
    with store.read() as db:
        return int(db.execute(select(func.count()).where(tables.items.c.job == job)).scalar_one())


def item_columns(declared: Sequence[ItemType], undeclared: Sequence[ItemType] = ()) -> Columns:
    # Nobody declared what a plain mapping holds, and its values may be of another type in the next run. Text holds all.
    plain = [dict.fromkeys(one.fields, TEXT) for one in undeclared]
    columns: Mapping[str, FieldType] = {}
    for fields in (*(one.fields for one in declared), *plain):
        columns = merge_fields(columns, fields)
    return {TYPE_COLUMN: Kind.TEXT, **columns} if len(declared) + len(undeclared) > 1 else columns


def declared_types(db: Connection, job: str) -> list[ItemType]:
    """The saved types, in the order in which they were first saved."""
    types = tables.item_types
    rows = db.execute(select(types.c.name, types.c.kinds).where(types.c.job == job).order_by(types.c.place))
    return [ItemType(name, _from_json(fields)) for name, fields in rows]


def _undeclared(db: Connection, job: str) -> list[ItemType]:
    """The types of plain mappings, with the kinds of their values."""
    return [_inferred(db, job, name) for name in _undeclared_names(db, job)]


def _undeclared_names(db: Connection, job: str) -> Sequence[str]:
    items, types = tables.items, tables.item_types
    known = select(types.c.name).where(types.c.job == job)
    others = select(items.c.type).distinct().where(items.c.job == job, items.c.type.not_in(known))
    return db.execute(others.order_by(items.c.type)).scalars().all()


def _inferred(db: Connection, job: str, name: str) -> ItemType:
    rows = rows_in_crawl_order(db, tables.items, job, {"type": name})
    kinds = infer_kinds(json.loads(row.data) for row in rows)
    return ItemType(name, {field: FieldType(kind) for field, kind in kinds.items()})


def _json(fields: Mapping[str, FieldType]) -> str:
    return json.dumps({name: type_to_json(type) for name, type in fields.items()})


def _from_json(text: str) -> dict[str, FieldType]:
    return {name: type_from_json(type) for name, type in json.loads(text).items()}


def rows_in_crawl_order(
    db: Connection, table: Table, job: str, where: Where, pages: Sequence[int] | None = None
) -> Iterator[Any]:
    """Streams items or rejects: data, type, page, URL, time and ordinal, and the reason of a reject.

    `pages` limits them to those of these requests.
    """
    listings = {origin: in_crawl_order(table, job, where, origin) for origin in item_origins(db, job)}
    if pages is not None:
        listings = {origin: listing.where(origin.c.fingerprint.in_(pages)) for origin, listing in listings.items()}
    parts = [stream_rows(db, listing) for listing in listings.values()]
    return parts[0] if len(parts) == 1 else heapq.merge(*parts, key=attrgetter("at", "page", "ordinal"))


def item_origins(db: Connection, job: str) -> list[Table]:
    """The tables of the requests that items may come from. Few jobs have items of requests without an answer."""
    drops = tables.drops
    handled = select(drops.c.job).where(drops.c.job == job, drops.c.reason == HANDLED).limit(1)
    return [tables.pages, drops] if db.execute(handled).first() else [tables.pages]


def in_crawl_order(table: Table, job: str, where: Where, origin: Table = tables.pages) -> Select[*tuple[Any, ...]]:
    of_page = (table.c.page == origin.c.fingerprint) & and_(*conditions(table, job, where))
    reason = [table.c.reason] if table is tables.rejects else []
    at = time_of(origin)
    # An outer join whose empty rows are removed by an expression that SQLite cannot optimize. With a plain join,
    # SQLite sorts all items before it returns the first one, instead of reading the pages in their order.
    return (
        select(table.c.data, table.c.type, table.c.page, origin.c.url, at.label("at"), table.c.ordinal, *reason)
        .select_from(origin)
        .outerjoin(table, of_page)
        .where(origin.c.job == job, func.coalesce(table.c.ordinal, -1) >= 0)
        .order_by(at, origin.c.fingerprint, table.c.ordinal)
    )


def time_of(origin: Table) -> Column[float]:
    return origin.c.fetched_at if origin is tables.pages else origin.c.dropped_at
