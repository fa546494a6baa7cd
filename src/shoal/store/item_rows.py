"""A page's items and rejects as rows.

The values of an item are kept as JSON text. Items with a key are one row per job, type and key, which belongs to the
page on which it was last found; whatever is saved of other pages leaves it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete

from shoal.model import PageRecord
from shoal.store import tables
from shoal.store.text import storable
from shoal.store.upsert import Upsert, replace_unless_older, take_over_key

Row = tuple[Any, ...]

_ITEMS = Upsert(tables.items, take_over_key)
_REJECTS = Upsert(tables.rejects, replace_unless_older)


def item_rows(page: PageRecord) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, item.type, _key(item.key), json_text(item.data), token)
        for ordinal, item in enumerate(page.items)
    ]


def reject_rows(page: PageRecord) -> list[Row]:
    job, fingerprint, token = page.job, page.fingerprint, page.token
    return [
        (job, fingerprint, ordinal, reject.type, json_text(reject.data), storable(reject.reason), token)
        for ordinal, reject in enumerate(page.rejects)
    ]


def write_items(db: Connection, rows: Iterable[Row]) -> None:
    """Of pages whose rows have been cleared."""
    _ITEMS.write(db, _last_of_each_key(rows))


def write_rejects(db: Connection, rows: Sequence[Row]) -> None:
    _REJECTS.write(db, rows)


def clear_items(db: Connection, job: str, pages: Sequence[int]) -> None:
    """Removes what these pages gave, and nothing that another page has found since."""
    if pages:
        for table in (tables.items, tables.rejects):
            db.execute(delete(table).where(table.c.job == job, table.c.page.in_(pages)))


def json_text(value: Any) -> str:
    """JSON that every reader takes: no lone surrogates, no NUL, no NaN."""
    # A third of what the standard library takes (1.6 against 4.6 us), and whoever has items has pydantic loaded.
    from pydantic_core import to_json

    try:
        text = to_json(value, inf_nan_mode="null")
    except ValueError:
        text = to_json(_plain(value), inf_nan_mode="null")
    if b"\\u0000" in text:
        text = to_json(_plain(value), inf_nan_mode="null")
    return text.decode()


def _plain(value: Any) -> Any:
    """The same with every text storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {storable(name): _plain(one) for name, one in value.items()}
    return value


def _key(key: str | None) -> str | None:
    return None if key is None else storable(key)


def _last_of_each_key(rows: Iterable[Row]) -> list[Row]:
    # One statement may not meet the same key twice, and the pages of a batch come in any order.
    kept: dict[tuple[Any, Any], Row] = {}
    for row in rows:
        _, page, ordinal, type, key, _, token = row
        name = (page, ordinal) if key is None else (type, key)
        if name not in kept or kept[name][-1] <= token:
            kept[name] = row
    return list(kept.values())
