"""Answers kept under the key that a caller gave with a request, so that its repetition gets the first one.

Whoever claims a key answers for it, and gets the name that a job made for it will have: a claim that nobody answered
for is taken over with that name, and finds the job if it was made.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, select, update

from shoal.store.store import Store
from shoal.store.tables import answers as table
from shoal.store.upsert import insert_into

KEPT_S = 86_400.0
ABANDONED_S = 120.0
"""A claim without an answer for so long was made by a process that has died."""


@dataclass(frozen=True, slots=True)
class Claim:
    token: str
    key: str
    request: str
    """What was asked for, as a hash."""
    job: str
    """The id of a job made for it."""


@dataclass(frozen=True, slots=True)
class Kept:
    claim: Claim
    status: int | None
    """None: whoever claimed it has not answered yet."""
    body: str | None


def claim(store: Store, wanted: Claim, now: float) -> Kept | None:
    """None: the claim is ours. Otherwise what is kept; of one that was abandoned we take over the job's id."""
    with store.write() as db:
        db.execute(delete(table).where(table.c.claimed_at < now - KEPT_S))
        values = {"token": wanted.token, "key": wanted.key, "request": wanted.request, "job": wanted.job}
        unless_there = insert_into(db, table).values(**values, claimed_at=now).on_conflict_do_nothing()
        if db.execute(unless_there.returning(table.c.key)).first():
            return None
        row = db.execute(select(table).where(*_is(wanted)).with_for_update()).one()
        return Kept(Claim(row.token, row.key, row.request, row.job), row.status, row.body)


def take_over(store: Store, abandoned: Claim, now: float) -> bool:
    """Whether the claim, which nobody answered for, is ours now."""
    stale = table.c.status.is_(None), table.c.claimed_at < now - ABANDONED_S
    with store.write() as db:
        return db.execute(update(table).where(*_is(abandoned), *stale).values(claimed_at=now)).rowcount > 0


def answer(store: Store, claimed: Claim, status: int, body: str) -> None:
    with store.write() as db:
        db.execute(update(table).where(*_is(claimed)).values(status=status, body=body))


def give_up(store: Store, claimed: Claim) -> None:
    """For a request that failed: its repetition is tried anew."""
    with store.write() as db:
        db.execute(delete(table).where(*_is(claimed), table.c.status.is_(None)))


def _is(claimed: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.token == claimed.token, table.c.key == claimed.key
