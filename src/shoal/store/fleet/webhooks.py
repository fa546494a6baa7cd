"""Webhook deliveries: one row per change of a job's state, written in the same transaction as the change.

A process claims a row before it sends it, so that the attempt counts even if the process dies. After the last attempt
the delivery is given up, and its row says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import func, select, update

from shoal.model import JobSpec, Requester, Webhook
from shoal.store.database.storable_text import storable
from shoal.store.fleet.add_delivery import LastDelivery
from shoal.store.store import Store
from shoal.store.tables import deliveries as table
from shoal.store.tables import jobs

CLAIM_S = 60.0
"""Longer than any delivery takes."""
RETRY_DELAYS_S = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)
"""The delay before each further attempt."""


class Delivery(NamedTuple):
    id: str
    """The same for all attempts."""
    job: str
    webhook: Webhook
    asked_by: Requester
    payload: Mapping[str, Any]
    attempts: int
    """Including this one."""


def claim_deliveries(store: Store, now: float, n: int) -> list[Delivery]:
    """Claims up to n due deliveries, oldest first."""
    due = select(table.c.id).where(table.c.due_at <= now).order_by(table.c.at).limit(n)
    # Checked again: another process may have claimed some of them since the select.
    free = table.c.id.in_(due.scalar_subquery()), table.c.due_at <= now
    claimed = update(table).where(*free).values(due_at=now + CLAIM_S, attempts=table.c.attempts + 1)
    with store.write() as db:
        ids = list(db.execute(claimed.returning(table.c.id)).scalars())
        with_jobs = select(table, jobs.c.name, jobs.c.spec).join(jobs, jobs.c.id == table.c.job)
        rows = db.execute(with_jobs.where(table.c.id.in_(ids)).order_by(table.c.at)).all()
    return [delivery for row in rows if (delivery := _delivery(row)) is not None]


def note_delivered(store: Store, id: str, now: float) -> None:
    with store.write() as db:
        db.execute(update(table).where(table.c.id == id).values(due_at=None, delivered_at=now, fault=None))


def note_fault(store: Store, delivery: Delivery, now: float, fault: str, for_good: bool) -> bool:
    """Schedules the next attempt; returns True if the delivery is given up."""
    over = for_good or delivery.attempts > len(RETRY_DELAYS_S)
    due_at = None if over else now + RETRY_DELAYS_S[delivery.attempts - 1]
    with store.write() as db:
        db.execute(update(table).where(table.c.id == delivery.id).values(due_at=due_at, fault=storable(fault)))
    return over


def last_deliveries(store: Store, job: str) -> LastDelivery:
    counts = select(
        func.count(table.c.delivered_at),
        func.count(table.c.due_at),
        func.count(),
    ).where(table.c.job == job)
    last = select(table.c.fault).where(table.c.job == job, table.c.fault.is_not(None)).order_by(table.c.at.desc())
    with store.read() as db:
        delivered, waiting, all_of_them = db.execute(counts).one()
        fault = db.execute(last.limit(1)).scalar()
    return LastDelivery(delivered, waiting, all_of_them - delivered - waiting, fault)


def _delivery(row: Any) -> Delivery | None:
    spec = JobSpec.from_json(row.spec)
    if spec.webhook is None:
        return None
    payload = {"job": row.job, "name": row.name, "state": row.state, "before": row.before, "reason": row.reason}
    return Delivery(row.id, row.job, spec.webhook, spec.asked_by, {**payload, "at": row.at}, row.attempts)
