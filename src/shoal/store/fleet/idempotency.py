"""Idempotency keys of the API: a repeated request with the same key gets the first response.

A process claims a key before it handles the request. The claim includes the id of the job to create. If the process
dies, another one takes over the claim with that id, and finds the job if it was created.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, delete, select, update

from shoal.store.database.upsert import insert_into
from shoal.store.store import Store
from shoal.store.tables import answers as table
from shoal.store.tables import jobs

KEPT_S = 86_400.0
ABANDONED_S = 120.0
"""If a claim has no response after this time, its process has died."""


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    token: str
    key: str
    request: str
    """A hash of the request."""
    job: str
    """The id of the job to create for it."""
    at: float
    """When it was claimed; distinguishes this claim from one that another process took over."""
    before: float | None = None
    """When the previous process claimed it, if this one took it over; that process may still be alive."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    claim: IdempotencyClaim
    status: int | None
    """None: the process that claimed it has not responded yet."""
    body: str | None


def claim(store: Store, wanted: IdempotencyClaim) -> StoredResponse | None:
    """Returns None if the claim is ours now, otherwise the stored claim and its response, if there is one."""
    values = {"token": wanted.token, "key": wanted.key, "request": wanted.request, "job": wanted.job}
    with store.write() as db:
        db.execute(delete(table).where(table.c.claimed_at < wanted.at - KEPT_S))
        unless_there = insert_into(db, table).values(**values, claimed_at=wanted.at).on_conflict_do_nothing()
        while db.execute(unless_there.returning(table.c.key)).first() is None:
            row = db.execute(select(table).where(*_is(wanted)).with_for_update()).one_or_none()
            # None: released in between.
            if row is not None:
                return StoredResponse(
                    IdempotencyClaim(row.token, row.key, row.request, row.job, row.claimed_at), row.status, row.body
                )
    return None


def take_over(store: Store, abandoned: IdempotencyClaim, now: float) -> IdempotencyClaim | None:
    """Returns an abandoned claim as ours; None if it is not abandoned or another process was faster."""
    if abandoned.at >= now - ABANDONED_S:
        return None
    with store.write() as db:
        taken = update(table).where(*_is_open(abandoned)).values(claimed_at=now)
        return replace(abandoned, at=now, before=abandoned.at) if db.execute(taken).rowcount else None


def store_response(store: Store, claimed: IdempotencyClaim, status: int, body: str) -> None:
    with store.write() as db:
        db.execute(update(table).where(*_is(claimed)).values(status=status, body=body))


def release_claim(store: Store, claimed: IdempotencyClaim) -> None:
    """For a request that failed: a repetition is handled again, and finds the job if it was created. A claim that was
    taken over returns to its previous state."""
    ours = _is_open(claimed)
    with store.write() as db:
        is_made = db.execute(select(jobs.c.id).where(jobs.c.id == claimed.job)).first() is not None
        if claimed.before is None and not is_made:
            db.execute(delete(table).where(*ours))
            return
        # So that a repetition can take it over at once.
        before = claimed.at - ABANDONED_S - 1 if claimed.before is None else claimed.before
        db.execute(update(table).where(*ours).values(claimed_at=before))


def _is(claimed: IdempotencyClaim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.token == claimed.token, table.c.key == claimed.key


def _is_open(claimed: IdempotencyClaim) -> tuple[ColumnElement[bool], ...]:
    return *_is(claimed), table.c.claimed_at == claimed.at, table.c.status.is_(None)
