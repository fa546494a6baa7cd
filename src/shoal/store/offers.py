"""Every offer made to a fleet's frontier, kept until the job ends, so that a frontier that was lost can be made anew.

The texts are the engine's own, one line each; those that were made together are packed in one row.
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


class Kept(NamedTuple):
    id: int
    offers: list[str]


def pack_offers(texts: Sequence[str]) -> bytes:
    return isal_zlib.compress("\n".join(texts).encode(), _LEVEL)


def write_offers(db: Connection, job: str, packed: bytes) -> None:
    db.execute(insert(table).values(job=job, packed=packed))


def add_offers(store: Store, job: str, texts: Sequence[str]) -> None:
    """Keeps offers that no batch carries; those of one found twice are kept twice."""
    packed = pack_offers(texts)
    with store.write() as db:
        write_offers(db, job, packed)


def kept_offers(store: Store, job: str, after_id: int, most: int) -> list[Kept]:
    """The next rows, each with all its offers. One whose save is still under way may come to stand before the last."""
    oldest = select(table.c.id, table.c.packed).where(table.c.job == job, table.c.id > after_id)
    with store.read() as db:
        rows = db.execute(oldest.order_by(table.c.id).limit(most)).all()
    return [Kept(id, isal_zlib.decompress(packed).decode().split("\n")) for id, packed in rows]


def forget_offers(store: Store, job: str) -> None:
    """Some at a time, so that nobody waits for the removal of a million."""
    some = select(table.c.id).where(table.c.job == job).order_by(table.c.id).limit(_FORGOTTEN_AT_ONCE)
    removed = True
    while removed:
        with store.write() as db:
            removed = db.execute(delete(table).where(table.c.id.in_(some.scalar_subquery()))).rowcount > 0
