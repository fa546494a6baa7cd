"""Inputs appended to a job, while it runs or when it has ended: part by part, each part whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from shoal.model import ENDED, Input, JobState
from shoal.store.among import among
from shoal.store.inputs import add_inputs, last_line
from shoal.store.jobs import held_state, reopen
from shoal.store.store import Store
from shoal.store.tables import inputs, jobs

AT_ONCE = 2_000


class Part(NamedTuple):
    """What became of a part."""

    offset: int
    """From places in what is appended to lines among the job's inputs."""
    accepted: int
    """Distinct requests that are new."""
    duplicates: int


def append_inputs(
    store: Store, job: str, given: Iterable[Input], offset: int | None, at: float, *, reopening: bool = False
) -> Part | None:
    """None, and nothing is stored, of a job that has ended, unless it is to be reopened; cancelled ones never are.

    All of them are stored or none; they are not held, and may be gone over twice. `offset` is that of the part before,
    None of the first: lines grow as places do, and only what others append meanwhile comes between.
    """

    def work(db: Connection) -> Part | None:
        # Locked, so that nobody else numbers lines, ends the job or finds all its inputs offered.
        state = held_state(db, job)
        if state in ENDED and (state is JobState.CANCELLED or not reopening):
            return None
        part = _added(db, job, given, offset)
        if part.accepted:
            db.execute(update(jobs).where(jobs.c.id == job).values(seeded=False))
            if state in ENDED:
                reopen(db, job, at)
        return part

    return store.change(work)


def _added(db: Connection, job: str, given: Iterable[Input], offset: int | None) -> Part:
    remaining, accepted, duplicates = iter(given), 0, 0
    while some := list(islice(remaining, AT_ONCE)):
        part, placed = _placed(db, job, some, offset)
        add_inputs(db, job, placed)
        offset, accepted, duplicates = part.offset, accepted + part.accepted, duplicates + part.duplicates
    return Part(offset or 0, accepted, duplicates)


def _placed(db: Connection, job: str, given: Sequence[Input], offset: int | None) -> tuple[Part, list[Input]]:
    last = last_line(db, job)
    offset = last if offset is None else max(offset, last + 1 - given[0].line)
    first = dict(_known(db, job, given))
    accepted, placed = 0, []
    for one in given:
        line = one.line + offset
        met = line if one.target is None else first.setdefault(one.target.fingerprint, line)
        accepted += met == line and one.target is not None
        placed.append(replace(one, line=line, duplicate_of=None if met == line else met))
    taken = sum(one.target is not None for one in given)
    return Part(offset, accepted, taken - accepted), placed


def _known(db: Connection, job: str, given: Sequence[Input]) -> Mapping[int, int]:
    """fingerprint -> the line in which it was first given."""
    keys = [one.target.fingerprint for one in given if one.target is not None]
    mine = inputs.c.job == job, among(db.dialect.name, inputs.c.fingerprint, "keys")
    wanted = select(inputs.c.fingerprint, func.min(inputs.c.line)).where(*mine).group_by(inputs.c.fingerprint)
    return {row[0]: row[1] for row in db.execute(wanted, {"keys": keys})}
