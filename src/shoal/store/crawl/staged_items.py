"""Stages new items of a job, then replaces the old items in one transaction.

Staged rows carry a job id with a suffix that no real job id has. If the process stops half-way, the old items stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from shoal.model import ItemType
from shoal.store import tables
from shoal.store.crawl.change_log import log_replacement
from shoal.store.crawl.item_files import fill_all_files
from shoal.store.crawl.item_rows import PageItems, item_rows, reject_rows, staged_id, write_items, write_rejects
from shoal.store.results.items import save_item_types
from shoal.store.store import Store

_TABLES = (tables.items, tables.rejects, tables.item_types)


def clear_staged(store: Store, job: str) -> None:
    with store.write() as db:
        for table in _TABLES:
            db.execute(delete(table).where(table.c.job == staged_id(job)))


def stage(store: Store, pages: Sequence[PageItems]) -> None:
    with store.write() as db:
        write_items(db, chain.from_iterable(map(item_rows, pages)))
        write_rejects(db, list(chain.from_iterable(map(reject_rows, pages))))


def item_count(store: Store, job: str) -> int:
    """The job's items that a replacement would remove."""
    with store.read() as db:
        return sum(_by_type(db, job).values())


class Replaced(NamedTuple):
    """The number of items of each type, before and after."""

    old: dict[str, int]
    new: dict[str, int]


def replace_items(store: Store, job: str, types: Sequence[ItemType]) -> Replaced:
    """Replaces the job's items, rejects and types with the staged ones, in one transaction."""
    save_item_types(store, staged_id(job), types)
    with store.write() as db:
        replaced = Replaced(_by_type(db, job), _by_type(db, staged_id(job)))
        log_replacement(store, db, job, staged_id(job))
        for table in _TABLES:
            db.execute(delete(table).where(table.c.job == job))
            db.execute(update(table).where(table.c.job == staged_id(job)).values(job=job))
        fill_all_files(store, db, job)
    return replaced


def _by_type(db: Connection, job: str) -> dict[str, int]:
    type = tables.items.c.type
    return dict(db.execute(select(type, func.count()).where(tables.items.c.job == job).group_by(type)).all())
