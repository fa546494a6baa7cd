"""All offers to a fleet's frontier, logged so that a lost frontier can be rebuilt. A job's log is deleted when it ends.

The engine serializes an offer as one line of text. One row holds all offers that were made together, compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from isal import isal_zlib

from shoal.store.database.plain_sql import insert_row, run
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

_LEVEL = 1
_FORGOTTEN_AT_ONCE = 200


class LoggedOffers(NamedTuple):
    id: int
    offers: list[str]


def pack_offers(texts: Sequence[str]) -> bytes:
    return isal_zlib.compress("\n".join(texts).encode(), _LEVEL)


def write_offers(db: Transaction, job: str, packed: bytes) -> None:
    insert_row(db, "offers", {"job": job, "packed": packed})


def add_offers(store: Store, job: str, texts: Sequence[str]) -> None:
    """Logs offers that belong to no batch. A link found twice may be logged twice."""
    packed = pack_offers(texts)
    with store.write_plain() as db:
        write_offers(db, job, packed)


def logged_offers(store: Store, job: str, after_id: int, most: int) -> list[LoggedOffers]:
    """Returns the next rows with all their offers. A row that is being saved may later appear before the last one."""
    oldest = "SELECT id, packed FROM offers WHERE job = :job AND id > :after ORDER BY id LIMIT :most"
    with store.read_plain() as db:
        rows = run(db, oldest, {"job": job, "after": after_id, "most": most})
    return [LoggedOffers(id, isal_zlib.decompress(packed).decode().split("\n")) for id, packed in rows]


def forget_offers(store: Store, job: str) -> None:
    """Deletes in small steps, so that no other writer waits for the removal of a million rows."""
    some = f"SELECT id FROM offers WHERE job = :job ORDER BY id LIMIT {_FORGOTTEN_AT_ONCE}"
    removed = True
    while removed:
        with store.write_plain() as db:
            removed = bool(run(db, f"DELETE FROM offers WHERE id IN ({some}) RETURNING id", {"job": job}))
