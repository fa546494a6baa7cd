"""Schedules, which start jobs repeatedly, and the runs of their ticks.

A tick becomes a run exactly once, however many processes watch the clock: `due_at` moves in the same transaction. The
run has the id of its job from the start. So if a process dies, the next one does not create a second job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, insert, select, true, update

from shoal.errors import UsageError
from shoal.model import ENDED
from shoal.store.database.storable_text import storable
from shoal.store.database.upsert import insert_into
from shoal.store.store import Store
from shoal.store.tables import jobs
from shoal.store.tables import runs as run_table
from shoal.store.tables import schedules as table

KEPT_S = 90 * 86_400.0
"""Older runs are deleted."""
CLAIM_S = 120.0
"""A process that claimed a run and has not started it after this time counts as dead."""


class Overlap(StrEnum):
    """What happens to a tick while the job of an earlier tick is still running."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class RunState(StrEnum):
    DUE = "due"
    BEGUN = "begun"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Schedule:
    id: str
    name: str
    cron: str
    zone: str
    overlap: Overlap
    job: str
    """The job to submit, as JSON."""
    paused: bool
    created_at: float
    due_at: float
    """When the next tick is due."""
    owner: str | None = None
    """The id of the submit token that owns the schedule and its jobs; None: admins own them."""


@dataclass(frozen=True, slots=True)
class Run:
    schedule: str
    tick: float
    job: str
    """The id of its job, if there is one."""
    state: RunState
    missed: int = 0
    """Earlier ticks that passed while no tend was running."""
    reason: str | None = None


def add_schedule(store: Store, schedule: Schedule) -> None:
    """Raises UsageError if its owner already has a schedule with this name."""
    values = {**asdict(schedule), "name": storable(schedule.name), "job": storable(schedule.job)}
    with store.write() as db:
        added = insert_into(db, table).values(values).on_conflict_do_nothing().returning(table.c.id)
        if db.execute(added).first() is None:
            raise UsageError(f"there is a schedule {schedule.name!r} already: remove it first, or choose another name")


def list_schedules(store: Store, owner: str | None = None) -> list[Schedule]:
    """Ordered by name; only this owner's if an owner is given."""
    by_name = select(table).where(_of_owner(owner)).order_by(table.c.name, table.c.created_at)
    with store.read() as db:
        return [_schedule(row) for row in db.execute(by_name)]


def scrapy_schedules(store: Store) -> list[Schedule]:
    """Those whose job runs a Scrapy project, of all owners."""
    # The database looks, because the jobs of others may have a million URLs.
    runs_one = select(table).where(table.c.job.contains('"scrapy": {')).order_by(table.c.name, table.c.created_at)
    with store.read() as db:
        return [_schedule(row) for row in db.execute(runs_one)]


def is_taken(store: Store, name: str, owner: str | None) -> bool:
    """Whether this owner has a schedule with this name; None: schedules without an owner."""
    taken = select(table.c.id).where(table.c.name == storable(name), table.c.owner.is_not_distinct_from(owner))
    with store.read() as db:
        return db.execute(taken).first() is not None


def find_schedule(store: Store, name: str, owner: str | None = None) -> Schedule | None:
    """Finds a schedule by id or name; only this owner's if an owner is given. Prefers one without an owner.

    Raises UsageError if several owners have a schedule with this name.
    """
    alike = select(table).where(_named(name), _of_owner(owner)).order_by(table.c.created_at)
    with store.read() as db:
        found = [_schedule(row) for row in db.execute(alike)]
    meant = [one for one in found if one.id == name] or [one for one in found if one.owner is None] or found
    if len(meant) > 1:
        ids = ", ".join(one.id for one in meant)
        raise UsageError(f"several schedules have the name {name!r}: give an id, one of {ids}")
    return meant[0] if meant else None


def change_schedule(store: Store, id: str, change: Callable[[Schedule], Mapping[str, Any]]) -> None:
    """`change` gets the current schedule and returns the columns to change; nothing happens if it was removed."""
    with store.write() as db:
        # Locked: if two callers change it at once, the second changes the result of the first.
        row = db.execute(select(table).where(table.c.id == id).with_for_update()).one_or_none()
        values = change(_schedule(row)) if row is not None else {}
        if values:
            db.execute(update(table).where(table.c.id == id).values(**values))


def remove_schedule(store: Store, id: str) -> None:
    """Removes the schedule and its runs; the jobs that it started stay."""
    with store.write() as db:
        db.execute(delete(run_table).where(run_table.c.schedule == id))
        db.execute(delete(table).where(table.c.id == id))


def due_schedules(store: Store, now: float) -> list[Schedule]:
    due = select(table).where(~table.c.paused, table.c.due_at <= now).order_by(table.c.due_at)
    with store.read() as db:
        return [_schedule(row) for row in db.execute(due)]


def note_tick(store: Store, schedule: Schedule, run: Run, due_at: float) -> bool:
    """Records the tick as a run and sets the next. False if another process did so, or the schedule has changed."""
    as_it_was = table.c.id == schedule.id, table.c.due_at == schedule.due_at, ~table.c.paused
    with store.write() as db:
        if not db.execute(update(table).where(*as_it_was).values(due_at=due_at)).rowcount:
            return False
        old = run_table.c.schedule == schedule.id, run_table.c.tick < run.tick - KEPT_S
        db.execute(delete(run_table).where(*old))
        added = insert_into(db, run_table).values(asdict(run)).on_conflict_do_nothing().returning(run_table.c.tick)
        return db.execute(added).first() is not None


def add_run(store: Store, run: Run) -> None:
    """Adds a run that no tick caused."""
    with store.write() as db:
        db.execute(insert(run_table).values(asdict(run)))


def due_runs(store: Store) -> list[tuple[Schedule, Run]]:
    """Oldest first."""
    due = run_table.c.state == RunState.DUE
    with store.read() as db:
        runs = [_run(row) for row in db.execute(select(run_table).where(due).order_by(run_table.c.tick))]
        of_these = table.c.id.in_({run.schedule for run in runs})
        known = {row.id: _schedule(row) for row in db.execute(select(table).where(of_these))} if runs else {}
    return [(known[run.schedule], run) for run in runs if run.schedule in known]


def claim_run(store: Store, run: Run, now: float) -> bool:
    """False if another process starts this run."""
    free = run_table.c.claimed_at.is_(None) | (run_table.c.claimed_at < now - CLAIM_S)
    claimed = update(run_table).where(*_is(run), run_table.c.state == RunState.DUE, free).values(claimed_at=now)
    with store.write() as db:
        return db.execute(claimed).rowcount > 0


def end_run(store: Store, run: Run, state: RunState, reason: str | None = None) -> None:
    """Sets the run's state; DUE means: try again."""
    words = None if reason is None else storable(reason)
    with store.write() as db:
        db.execute(update(run_table).where(*_is(run)).values(state=state, reason=words, claimed_at=None))


def last_runs(store: Store, schedule: str, n: int) -> list[Run]:
    """Newest first."""
    newest = select(run_table).where(run_table.c.schedule == schedule).order_by(run_table.c.tick.desc()).limit(n)
    with store.read() as db:
        return [_run(row) for row in db.execute(newest)]


def unfinished_job(store: Store, schedule: str) -> str | None:
    """A job that the schedule started and that has not ended."""
    begun = run_table.c.schedule == schedule, run_table.c.job == jobs.c.id, jobs.c.state.not_in(ENDED)
    with store.read() as db:
        return db.execute(select(jobs.c.id).where(*begun).order_by(jobs.c.created_at).limit(1)).scalar()


def _is(run: Run) -> tuple[ColumnElement[bool], ...]:
    return run_table.c.schedule == run.schedule, run_table.c.tick == run.tick


def _of_owner(owner: str | None) -> ColumnElement[bool]:
    return true() if owner is None else table.c.owner == owner


def _named(name: str) -> ColumnElement[bool]:
    return (table.c.name == storable(name)) | (table.c.id == storable(name))


def _schedule(row: Row[*tuple[Any, ...]]) -> Schedule:
    return Schedule(**{**row._mapping, "overlap": Overlap(row.overlap)})


def _run(row: Row[*tuple[Any, ...]]) -> Run:
    return Run(row.schedule, row.tick, row.job, RunState(row.state), row.missed, row.reason)
