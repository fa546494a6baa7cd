"""The part of webhooks that jobs need: adds a delivery in the same transaction that changes a job's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from shoal.model import JobSpec, JobState
from shoal.store.database.plain_sql import first, for_update, insert_row

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction


@dataclass(frozen=True, slots=True)
class LastDelivery:
    delivered: int
    waiting: int
    given_up: int
    fault: str | None
    """The fault of the last failed delivery."""


def add_delivery(db: Transaction, job: str, state: JobState, at: float, reason: str | None) -> None:
    """Adds a delivery if the state changes; call it before the state is set, in the same transaction."""
    found = first(db, f"SELECT state, spec FROM jobs WHERE id = :job {for_update(db)}", {"job": job})
    if found is None or found[0] == state or JobSpec.from_json(found[1]).webhook is None:
        return
    values = {"id": uuid4().hex, "job": job, "state": state, "before": found[0], "reason": reason}
    insert_row(db, "deliveries", {**values, "at": at, "attempts": 0, "due_at": at})
