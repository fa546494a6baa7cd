"""An operator's word on hosts, as the frontier has it: kept here too, so that a lost frontier gets it back."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import delete, select

from shoal.store.store import Store
from shoal.store.tables import hosts as table
from shoal.store.upsert import insert_into, replace


class Word(NamedTuple):
    host: str
    rate: float | None
    """None: each job's own."""
    paused: bool


def note_word(store: Store, word: Word) -> None:
    """One that says nothing is forgotten."""
    with store.write() as db:
        if word.rate is None and not word.paused:
            db.execute(delete(table).where(table.c.host == word.host))
        else:
            db.execute(replace(insert_into(db, table).values(word._asdict()), table))


def stored_words(store: Store) -> list[Word]:
    with store.read() as db:
        return [Word(*row) for row in db.execute(select(table).order_by(table.c.host))]
