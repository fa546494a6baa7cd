"""Answers kept under the key that a caller gave with a request, so that its repetition gets the first one.

Whoever claims a key answers for it, and gets the name that a job made for it will have: a claim that nobody answered
for is taken over with that name, and finds the job if it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, delete, select, update

from shoal.store.store import Store
from shoal.store.tables import answers as table
from shoal.store.tables import jobs
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
    at: float
    """When it was claimed: tells it from that of somebody who took it over."""
    before: float | None = None
    """When somebody else had claimed it, whom it was taken over from and who may be alive after all."""


@dataclass(frozen=True, slots=True)
class Kept:
    claim: Claim
    status: int | None
    """None: whoever claimed it has not answered yet."""
    body: str | None


def claim(store: Store, wanted: Claim) -> Kept | None:
    """None: the claim is ours. Otherwise what is kept; of one that was abandoned we take over the job's id."""
    values = {"token": wanted.token, "key": wanted.key, "request": wanted.request, "job": wanted.job}
    with store.write() as db:
        db.execute(delete(table).where(table.c.claimed_at < wanted.at - KEPT_S))
        unless_there = insert_into(db, table).values(**values, claimed_at=wanted.at).on_conflict_do_nothing()
        while db.execute(unless_there.returning(table.c.key)).first() is None:
            row = db.execute(select(table).where(*_is(wanted)).with_for_update()).one_or_none()
            # None: given up in between.
            if row is not None:
                return Kept(Claim(row.token, row.key, row.request, row.job, row.claimed_at), row.status, row.body)
    return None


def take_over(store: Store, abandoned: Claim, now: float) -> Claim | None:
    """The claim, which nobody answered for, as ours; None if it is not to be had."""
    if abandoned.at >= now - ABANDONED_S:
        return None
    with store.write() as db:
        taken = update(table).where(*_is_open(abandoned)).values(claimed_at=now)
        return replace(abandoned, at=now, before=abandoned.at) if db.execute(taken).rowcount else None


def answer(store: Store, claimed: Claim, status: int, body: str) -> None:
    with store.write() as db:
        db.execute(update(table).where(*_is(claimed)).values(status=status, body=body))


def give_up(store: Store, claimed: Claim) -> None:
    """For a request that failed: its repetition is tried anew, and finds the job if it was made before that. One that
    was taken over is as it was before."""
    ours = _is_open(claimed)
    with store.write() as db:
        is_made = db.execute(select(jobs.c.id).where(jobs.c.id == claimed.job)).first() is not None
        if claimed.before is None and not is_made:
            db.execute(delete(table).where(*ours))
            return
        # To be taken over at once.
        before = claimed.at - ABANDONED_S - 1 if claimed.before is None else claimed.before
        db.execute(update(table).where(*ours).values(claimed_at=before))


def _is(claimed: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.token == claimed.token, table.c.key == claimed.key


def _is_open(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    return *_is(claimed), table.c.claimed_at == claimed.at, table.c.status.is_(None)
