"""All offers to a fleet's frontier, logged so that a lost frontier can be rebuilt. A job's log is deleted when it ends.

The engine serializes an offer as one line of text. One row holds all offers that were made together, compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isal import isal_zlib
from sqlalchemy import Connection, delete, insert, select

from shoal.store.store import Store
from shoal.store.tables import offers as table

_LEVEL = 1
_FORGOTTEN_AT_ONCE = 200


class LoggedOffers(NamedTuple):
    id: int
    offers: list[str]


def pack_offers(texts: Sequence[str]) -> bytes:
    return isal_zlib.compress("\n".join(texts).encode(), _LEVEL)


def write_offers(db: Connection, job: str, packed: bytes) -> None:
    db.execute(insert(table).values(job=job, packed=packed))


def add_offers(store: Store, job: str, texts: Sequence[str]) -> None:
    """Logs offers that belong to no batch. A link found twice may be logged twice."""
    packed = pack_offers(texts)
    with store.write() as db:
        write_offers(db, job, packed)


def logged_offers(store: Store, job: str, after_id: int, most: int) -> list[LoggedOffers]:
    """Returns the next rows with all their offers. A row that is being saved may later appear before the last one."""
    oldest = select(table.c.id, table.c.packed).where(table.c.job == job, table.c.id > after_id)
    with store.read() as db:
        rows = db.execute(oldest.order_by(table.c.id).limit(most)).all()
    return [LoggedOffers(id, isal_zlib.decompress(packed).decode().split("\n")) for id, packed in rows]


def forget_offers(store: Store, job: str) -> None:
    """Deletes in small steps, so that no other writer waits for the removal of a million rows."""
    some = select(table.c.id).where(table.c.job == job).order_by(table.c.id).limit(_FORGOTTEN_AT_ONCE)
    removed = True
    while removed:
        with store.write() as db:
            removed = db.execute(delete(table).where(table.c.id.in_(some.scalar_subquery()))).rowcount > 0
