"""Changes the state of a job. Each change reads and writes the state in one transaction, so that none is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import UnknownJob
from shoal.model import ENDED, JobState
from shoal.store.database.plain_sql import changes, for_update, run, value
from shoal.store.database.storable_text import storable
from shoal.store.fleet.add_delivery import add_delivery
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction


def set_state(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> None:
    """Running sets `started_at` once. An ended state sets `finished_at`; any other state clears it."""
    with store.write_plain() as db:
        change_state(db, id, state, at, reason)


def set_state_unless_ended(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> bool:
    """Like `set_state`, for a command of a user. Returns False and changes nothing if the job has ended meanwhile."""
    with store.write_plain() as db:
        now = lock_state(db, id)
        if now not in ENDED:
            change_state(db, id, state, at, reason)
    return now not in ENDED


def fail_unless_ended(store: Store, id: str, at: float, reason: str) -> None:
    with store.write_plain() as db:
        if lock_state(db, id) not in ENDED:
            change_state(db, id, JobState.FAILED, at, reason)


def reopen_ended(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> bool:
    """Like `set_state`, for a job that has ended. Returns False and changes nothing if the job was cancelled."""
    with store.write_plain() as db:
        now = lock_state(db, id)
        if now in ENDED and now is not JobState.CANCELLED:
            change_state(db, id, state, at, reason)
    return now is not JobState.CANCELLED


def start_queued_job(store: Store, id: str, at: float) -> JobState:
    """Sets a queued job to running. Returns the state, which may differ: a user may have changed it first."""
    with store.write_plain() as db:
        state = lock_state(db, id)
        if state is not JobState.QUEUED:
            return state
        change_state(db, id, JobState.RUNNING, at, None)
    return JobState.RUNNING


def end_if_seeded(store: Store, id: str, state: JobState, at: float, reason: str | None) -> bool:
    """Like `set_state`. Returns False and changes nothing if URLs were appended after the job ran out of requests."""
    with store.write_plain() as db:
        # Locked: either a client that appends finds the job ended, or this finds the appended inputs.
        [(seeded, now)] = run(db, f"SELECT seeded, state FROM jobs WHERE id = :id {for_update(db)}", {"id": id})
        # If a user has ended the job, its state stays.
        if seeded and now not in ENDED:
            change_state(db, id, state, at, reason)
    return bool(seeded)


def lock_state(db: Transaction, id: str) -> JobState:
    """Locks the job's state until the transaction ends and returns it. Raises UnknownJob if the job was removed."""
    state = value(db, f"SELECT state FROM jobs WHERE id = :id {for_update(db)}", {"id": id})
    if state is None:
        raise UnknownJob(f"there is no job {id!r} any more: somebody removed it")
    return JobState(state)


def reopen(db: Transaction, id: str, at: float) -> None:
    """Sets an ended job to running, in a transaction that has locked it."""
    change_state(db, id, JobState.RUNNING, at, None)


def change_state(db: Transaction, id: str, state: JobState, at: float, reason: str | None) -> None:
    words = None if reason is None else storable(reason)
    add_delivery(db, id, state, at, words)
    update_job(db, id, {"state": state, "reason": words, "finished_at": at if state in ENDED else None})
    if state is JobState.RUNNING:
        run(db, "UPDATE jobs SET started_at = :at WHERE id = :id AND started_at IS NULL", {"id": id, "at": at})


def update_job(db: Transaction, id: str, values: dict[str, Any]) -> None:
    run(db, f"UPDATE jobs SET {changes(values)} WHERE id = :id", {**values, "id": id})
