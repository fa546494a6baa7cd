"""What a job's webhook is to be told: a row per change of its state, written with the change itself.

Whoever delivers claims a row first, so that it counts as tried whatever becomes of the process; what is tried too
often is given up, and the row says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, func, insert, select, update

from shoal.model import Asker, JobSpec, JobState, Webhook
from shoal.store.store import Store
from shoal.store.tables import deliveries as table
from shoal.store.tables import jobs
from shoal.store.text import storable

CLAIM_S = 60.0
"""Longer than a delivery may take."""
WAITS_S = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)
"""Before each further attempt."""


class Delivery(NamedTuple):
    id: str
    """Stays the same over all attempts."""
    job: str
    webhook: Webhook
    asked_by: Asker
    said: Mapping[str, Any]
    attempts: int
    """This one included."""


@dataclass(frozen=True, slots=True)
class Told:
    delivered: int
    waiting: int
    given_up: int
    fault: str | None
    """Of the last one that was not delivered."""


def note_change(db: Connection, job: str, state: JobState, at: float, reason: str | None) -> None:
    """To be called before the state is set, in the same transaction."""
    found = db.execute(select(jobs.c.state, jobs.c.spec).where(jobs.c.id == job).with_for_update()).first()
    if found is None or found.state == state or JobSpec.from_json(found.spec).webhook is None:
        return
    values = {"id": uuid4().hex, "job": job, "state": state, "before": found.state, "reason": reason}
    db.execute(insert(table).values(**values, at=at, attempts=0, due_at=at))


def claim_deliveries(store: Store, now: float, n: int) -> list[Delivery]:
    """Up to n that are due, oldest first."""
    due = select(table.c.id).where(table.c.due_at <= now).order_by(table.c.at).limit(n)
    # Checked once more: another may have claimed some of them since they were found.
    free = table.c.id.in_(due.scalar_subquery()), table.c.due_at <= now
    claimed = update(table).where(*free).values(due_at=now + CLAIM_S, attempts=table.c.attempts + 1)
    with store.write() as db:
        ids = list(db.execute(claimed.returning(table.c.id)).scalars())
        whole = select(table, jobs.c.name, jobs.c.spec).join(jobs, jobs.c.id == table.c.job)
        rows = db.execute(whole.where(table.c.id.in_(ids)).order_by(table.c.at)).all()
    return [delivery for row in rows if (delivery := _delivery(row)) is not None]


def note_delivered(store: Store, id: str, now: float) -> None:
    with store.write() as db:
        db.execute(update(table).where(table.c.id == id).values(due_at=None, delivered_at=now, fault=None))


def note_fault(store: Store, delivery: Delivery, now: float, fault: str, for_good: bool) -> bool:
    """True: it is given up."""
    over = for_good or delivery.attempts > len(WAITS_S)
    due_at = None if over else now + WAITS_S[delivery.attempts - 1]
    with store.write() as db:
        db.execute(update(table).where(table.c.id == delivery.id).values(due_at=due_at, fault=storable(fault)))
    return over


def told_so_far(store: Store, job: str) -> Told:
    counts = select(
        func.count(table.c.delivered_at),
        func.count(table.c.due_at),
        func.count(),
    ).where(table.c.job == job)
    last = select(table.c.fault).where(table.c.job == job, table.c.fault.is_not(None)).order_by(table.c.at.desc())
    with store.read() as db:
        delivered, waiting, all_of_them = db.execute(counts).one()
        fault = db.execute(last.limit(1)).scalar()
    return Told(delivered, waiting, all_of_them - delivered - waiting, fault)


def _delivery(row: Any) -> Delivery | None:
    spec = JobSpec.from_json(row.spec)
    if spec.webhook is None:
        return None
    said = {"job": row.job, "name": row.name, "state": row.state, "before": row.before, "reason": row.reason}
    return Delivery(row.id, row.job, spec.webhook, spec.asked_by, {**said, "at": row.at}, row.attempts)
