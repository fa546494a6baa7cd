"""Converts a page's items and rejects into rows.

The store keeps an item's values as JSON text. An item with a key has one row per job, type and key. That row belongs
to the page that gave the item last; saving any other page does not touch it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from shoal.model import ItemRecord, RejectRecord
from shoal.store.database.plain_sql import among, list_value, run
from shoal.store.database.sqlite_script import columns_of
from shoal.store.database.storable_text import json_text, storable, storable_json
from shoal.store.database.upsert import Upsert, replace_unless_older, take_over_key

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

Row = tuple[Any, ...]

_TYPE, _KEY = 3, 4
_type_and_key = itemgetter(_TYPE, _KEY)
_ITEMS = Upsert("items", take_over_key)
_REJECTS = Upsert("rejects", replace_unless_older)


class PageItems(Protocol):
    """A page, with its items and rejects."""

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


def staged_id(job: str) -> str:
    """The job id under which the rows of an extraction are staged."""
    return f"{job}~"


def item_rows(page: PageItems) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, item.type, item.key and storable(item.key), storable_json(item.text), token)
        for ordinal, item in enumerate(page.items)
    ]


def reject_rows(page: PageItems) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, reject.type, json_text(reject.data), storable(reject.reason), token)
        for ordinal, reject in enumerate(page.rejects)
    ]


def write_items(db: Transaction, rows: Iterable[Row]) -> list[Row]:
    """Call `clear_items` for these pages first. Returns the rows without those whose key occurs again."""
    alone: list[Row] = []
    keyed: list[Row] = []
    for row in rows:
        (alone if row[_KEY] is None else keyed).append(row)
    written = alone + _last_of_each_key(keyed)
    _ITEMS.write(db, written)
    return written


def write_rejects(db: Transaction, rows: Sequence[Row]) -> None:
    _REJECTS.write(db, rows)


def clear_items(db: Transaction, job: str, pages: Sequence[int]) -> None:
    """Removes the items and rejects of these pages, but no item that another page has given since."""
    if pages:
        for table in ("items", "rejects"):
            _delete(db, table, job, pages)


def take_items(db: Transaction, job: str, pages: Sequence[int]) -> list[Row]:
    """Like `clear_items`; returns the rows of the items."""
    if not pages:
        return []
    taken = _delete(db, "items", job, pages, f"RETURNING {', '.join(columns_of('items').names)}")
    _delete(db, "rejects", job, pages)
    return taken


def _delete(db: Transaction, table: str, job: str, pages: Sequence[int], returning: str = "") -> list[Row]:
    of_pages = f"DELETE FROM {table} WHERE job = :job AND {among(db, 'page', 'pages')} {returning}"
    return [tuple(row) for row in run(db, of_pages, {"job": job, "pages": list_value(db, pages)})]


def _last_of_each_key(rows: Iterable[Row]) -> list[Row]:
    """Expects rows that have a key."""
    # One statement must not contain a key twice, and the pages of a batch come in any order.
    kept: dict[Row, Row] = {}
    for row in rows:
        name = _type_and_key(row)
        if name not in kept or kept[name][-1] <= row[-1]:
            kept[name] = row
    # All writers use the same order: otherwise two writers with common keys would deadlock.
    return [kept[name] for name in sorted(kept)]
