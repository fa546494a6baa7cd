"""An operator's word on hosts, as the frontier has it: kept here too, so that a lost frontier gets it back."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from sqlalchemy import delete, select

from shoal.store.store import Store
from shoal.store.tables import hosts as table
from shoal.store.upsert import insert_into


class Word(NamedTuple):
    host: str
    rate: float | None
    """None: each job's own."""
    paused: bool


class Said(TypedDict, total=False):
    """What is left out stays as it is."""

    rate: float | None
    paused: bool


def change_word(store: Store, host: str, said: Said) -> Word:
    """The word as it is now, with what others have said at the same time. One that says nothing is forgotten."""
    if not said:
        return stored_word(store, host)
    with store.write() as db:
        first = insert_into(db, table).values({"rate": None, "paused": False, **said, "host": host})
        changed = first.on_conflict_do_update(index_elements=[table.c.host], set_=dict(said)).returning(*table.c)
        word = Word(*db.execute(changed).one())
        if word.rate is None and not word.paused:
            db.execute(delete(table).where(table.c.host == host))
        return word


def stored_word(store: Store, host: str) -> Word:
    with store.read() as db:
        row = db.execute(select(table).where(table.c.host == host)).one_or_none()
    return Word(host, None, False) if row is None else Word(*row)


def stored_words(store: Store) -> list[Word]:
    with store.read() as db:
        return [Word(*row) for row in db.execute(select(table).order_by(table.c.host))]
