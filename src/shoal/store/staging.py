"""New items of a job, gathered beside the ones it has and put in their place at once.

They wait under the job's name with a mark that no job's name has; whoever breaks off leaves the old items as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from shoal.model import ItemType
from shoal.store import tables
from shoal.store.item_rows import Giving, item_rows, reject_rows, write_items, write_rejects
from shoal.store.items import save_item_types
from shoal.store.store import Store

_TABLES = (tables.items, tables.rejects, tables.item_types)


def staged(job: str) -> str:
    """The name under which a job's new items wait."""
    return f"{job}~"


def clear_staged(store: Store, job: str) -> None:
    with store.write() as db:
        for table in _TABLES:
            db.execute(delete(table).where(table.c.job == staged(job)))


def stage(store: Store, pages: Sequence[Giving]) -> None:
    with store.write() as db:
        write_items(db, chain.from_iterable(map(item_rows, pages)))
        write_rejects(db, list(chain.from_iterable(map(reject_rows, pages))))


class Replaced(NamedTuple):
    """How many items of each type there were, and are."""

    old: dict[str, int]
    new: dict[str, int]


def replace_items(store: Store, job: str, types: Sequence[ItemType]) -> Replaced:
    """Puts what is staged in the place of the job's items, rejects and types, in one transaction."""
    save_item_types(store, staged(job), types)
    with store.write() as db:
        replaced = Replaced(_by_type(db, job), _by_type(db, staged(job)))
        for table in _TABLES:
            db.execute(delete(table).where(table.c.job == job))
            db.execute(update(table).where(table.c.job == staged(job)).values(job=job))
    return replaced


def _by_type(db: Connection, job: str) -> dict[str, int]:
    type = tables.items.c.type
    return dict(db.execute(select(type, func.count()).where(tables.items.c.job == job).group_by(type)).all())
