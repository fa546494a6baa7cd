"""A page's items and rejects as rows.

The values of an item are kept as JSON text. Items with a key are one row per job, type and key, which belongs to the
page on which it was last found; whatever is saved of other pages leaves it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Protocol

from sqlalchemy import Connection, delete

from shoal.model import ItemRecord, RejectRecord
from shoal.store import tables
from shoal.store.text import json_text, storable, storable_json
from shoal.store.upsert import Upsert, replace_unless_older, take_over_key

Row = tuple[Any, ...]

_TYPE, _KEY = 3, 4
_type_and_key = itemgetter(_TYPE, _KEY)
_ITEMS = Upsert(tables.items, take_over_key)
_REJECTS = Upsert(tables.rejects, replace_unless_older)


class Giving(Protocol):
    """A page by what it gave."""

    @property
    def job(self) -> str: ...

    @property
    def fingerprint(self) -> int: ...

    @property
    def token(self) -> int: ...

    @property
    def items(self) -> Sequence[ItemRecord]: ...

    @property
    def rejects(self) -> Sequence[RejectRecord]: ...


def item_rows(page: Giving) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, item.type, item.key and storable(item.key), storable_json(item.text), token)
        for ordinal, item in enumerate(page.items)
    ]


def reject_rows(page: Giving) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, reject.type, json_text(reject.data), storable(reject.reason), token)
        for ordinal, reject in enumerate(page.rejects)
    ]


def write_items(db: Connection, rows: Iterable[Row]) -> None:
    """Of pages whose rows have been cleared."""
    alone: list[Row] = []
    keyed: list[Row] = []
    for row in rows:
        (alone if row[_KEY] is None else keyed).append(row)
    _ITEMS.write(db, alone + _last_of_each_key(keyed))


def write_rejects(db: Connection, rows: Sequence[Row]) -> None:
    _REJECTS.write(db, rows)


def clear_items(db: Connection, job: str, pages: Sequence[int]) -> None:
    """Removes what these pages gave, and nothing that another page has found since."""
    if pages:
        for table in (tables.items, tables.rejects):
            db.execute(delete(table).where(table.c.job == job, table.c.page.in_(pages)))


def _last_of_each_key(rows: Iterable[Row]) -> list[Row]:
    """Of rows that have one."""
    # One statement may not meet the same key twice, and the pages of a batch come in any order.
    kept: dict[Row, Row] = {}
    for row in rows:
        name = _type_and_key(row)
        if name not in kept or kept[name][-1] <= row[-1]:
            kept[name] = row
    # In one order for all writers: two that share keys would otherwise wait for each other.
    return [kept[name] for name in sorted(kept)]
