"""The items of a job as people read and export them, and the types that give them their columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, func, select

from shoal.model import ItemType, fingerprint_hex
from shoal.store import tables
from shoal.store.columns import Columns, Kind
from shoal.store.kinds import COLUMN_KINDS, agreed, kinds_in
from shoal.store.records import Where, conditions, stream, streamed
from shoal.store.store import Store
from shoal.store.upsert import Upsert, replace

TYPE_COLUMN = "_type"

_UPSERT = Upsert(tables.item_types, replace)


def save_item_types(store: Store, job: str, types: Sequence[ItemType]) -> None:
    """Adds to the types that are known; also those of a spider that was changed before the job went on.

    The items found before keep their fields, and a field that has changed its kind is text from then on.
    """
    with store.write() as db:
        # Of several workers that bring the same spider's types at once, each must see what the others have added.
        db.execute(select(tables.jobs.c.id).where(tables.jobs.c.id == job).with_for_update())
        known = {one.name: dict(one.kinds) for one in _declared(db, job)}
        for one in types:
            known[one.name] = agreed(one.kinds, known.get(one.name, {}))
        _UPSERT.write(db, [(job, name, place, json.dumps(known[name])) for place, name in enumerate(known)])


def item_types(store: Store, job: str) -> list[ItemType]:
    """The types that were saved, then those of plain mappings, whose fields are told from the items."""
    with store.read() as db:
        return _types(db, job)


def list_items(store: Store, job: str, where: Where, provenance: bool = False) -> Iterator[dict[str, Any]]:
    """The fields of each item, in the order of the crawl; with provenance also `_url`, `_page` and `_type`."""
    for data, type, page, url in stream(store, in_crawl_order(tables.items, job, where)):
        item: dict[str, Any] = json.loads(data)
        if provenance:
            item |= {"_url": url, "_page": fingerprint_hex(page), TYPE_COLUMN: type}
        yield item


def list_rejects(store: Store, job: str, where: Where) -> Iterator[dict[str, Any]]:
    """What failed validation: type, reason, what was found, and on which page."""
    for data, type, page, url, reason in stream(store, in_crawl_order(tables.rejects, job, where)):
        found = json.loads(data)
        yield {"type": type, "reason": reason, "data": found, "url": url, "page": fingerprint_hex(page)}


class ItemTable:
    """The items of a job at one moment: their columns, and their rows as often as they are asked for.

    The columns are the fields of all types in their order; with several types the first one names the type.
    """

    def __init__(self, db: Connection, job: str, where: Where) -> None:
        self._db = db
        self._listing = in_crawl_order(tables.items, job, where)
        types = _types(db, job)
        self._several = len(types) > 1
        self.columns = _columns(types)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for data, type, *_ in streamed(self._db, self._listing):
            yield {TYPE_COLUMN: type, **json.loads(data)} if self._several else json.loads(data)


@contextmanager
def item_table(store: Store, job: str, where: Where) -> Iterator[ItemTable]:
    with store.read() as db:
        yield ItemTable(db, job, where)


def _columns(types: Sequence[ItemType]) -> Columns:
    kinds: dict[str, str] = {}
    for one in types:
        kinds = agreed(kinds, one.kinds)
    columns = {name: COLUMN_KINDS[kind] for name, kind in kinds.items()}
    return {TYPE_COLUMN: Kind.TEXT, **columns} if len(types) > 1 else columns


def _types(db: Connection, job: str) -> list[ItemType]:
    declared = _declared(db, job)
    items = tables.items
    others = (
        select(items.c.type).distinct().where(items.c.job == job, items.c.type.not_in(one.name for one in declared))
    )
    return [*declared, *(_told(db, job, name) for name in db.execute(others.order_by(items.c.type)).scalars().all())]


def _declared(db: Connection, job: str) -> list[ItemType]:
    types = tables.item_types
    rows = db.execute(select(types.c.name, types.c.kinds).where(types.c.job == job).order_by(types.c.place))
    return [ItemType(name, json.loads(kinds)) for name, kinds in rows]


def _told(db: Connection, job: str, name: str) -> ItemType:
    listing = in_crawl_order(tables.items, job, {"type": name})
    return ItemType(name, kinds_in(json.loads(row.data) for row in streamed(db, listing)))


def in_crawl_order(table: Table, job: str, where: Where) -> Select[*tuple[Any, ...]]:
    pages = tables.pages
    of_page = (table.c.page == pages.c.fingerprint) & and_(*conditions(table, job, where))
    reason = [table.c.reason] if table is tables.rejects else []
    # An outer join whose empty rows go by an expression that SQLite does not see through: given a plain join it
    # sorts all items before it shows the first, instead of walking the pages in their order.
    return (
        select(table.c.data, table.c.type, table.c.page, pages.c.url, *reason)
        .select_from(pages)
        .outerjoin(table, of_page)
        .where(pages.c.job == job, func.coalesce(table.c.ordinal, -1) >= 0)
        .order_by(pages.c.fetched_at, pages.c.fingerprint, table.c.ordinal)
    )
