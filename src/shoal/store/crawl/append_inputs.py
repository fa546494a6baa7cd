"""Appends inputs to a job that runs or has ended, in parts. Each part is stored completely or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from shoal.model import ENDED, Input, JobState
from shoal.store.crawl.inputs import add_inputs, last_line
from shoal.store.database.in_list import in_list
from shoal.store.job_state import lock_state, reopen
from shoal.store.store import Store
from shoal.store.tables import inputs, jobs

AT_ONCE = 2_000


class InputPart(NamedTuple):
    """The result of appending one part."""

    offset: int
    """Difference between a line of the job's inputs and the position in the appended list."""
    accepted: int
    """Distinct requests that are new to the job."""
    duplicates: int


def append_inputs(
    store: Store, job: str, given: Iterable[Input], offset: int | None, at: float, *, reopening: bool = False
) -> InputPart | None:
    """Stores all of these inputs or none. Returns None if the job has ended, unless `reopening`.

    Never reopens a cancelled job. Does not keep the inputs in memory, and may iterate over them twice. `offset` is the
    offset of the part before, None for the first part. Lines grow with positions; a gap between two parts holds only
    what other clients appended meanwhile.
    """

    def work(db: Connection) -> InputPart | None:
        # Locked, so that nobody else assigns lines, ends the job or marks all its inputs as offered.
        state = lock_state(db, job)
        if state in ENDED and (state is JobState.CANCELLED or not reopening):
            return None
        part = _added(db, job, given, offset)
        if part.accepted:
            db.execute(update(jobs).where(jobs.c.id == job).values(seeded=False))
            if state in ENDED:
                reopen(db, job, at)
        return part

    return store.change(work)


def _added(db: Connection, job: str, given: Iterable[Input], offset: int | None) -> InputPart:
    remaining, accepted, duplicates = iter(given), 0, 0
    while some := list(islice(remaining, AT_ONCE)):
        part, placed = _placed(db, job, some, offset)
        add_inputs(db, job, placed)
        offset, accepted, duplicates = part.offset, accepted + part.accepted, duplicates + part.duplicates
    return InputPart(offset or 0, accepted, duplicates)


def _placed(db: Connection, job: str, given: Sequence[Input], offset: int | None) -> tuple[InputPart, list[Input]]:
    last = last_line(db, job)
    offset = last if offset is None else max(offset, last + 1 - given[0].line)
    first_lines = dict(_known(db, job, given))
    accepted, placed = 0, []
    for one in given:
        line = one.line + offset
        first_line = line if one.target is None else first_lines.setdefault(one.target.fingerprint, line)
        accepted += first_line == line and one.target is not None
        placed.append(replace(one, line=line, duplicate_of=None if first_line == line else first_line))
    taken = sum(one.target is not None for one in given)
    return InputPart(offset, accepted, taken - accepted), placed


def _known(db: Connection, job: str, given: Sequence[Input]) -> Mapping[int, int]:
    """Maps each fingerprint to the line of its first input."""
    keys = [one.target.fingerprint for one in given if one.target is not None]
    mine = inputs.c.job == job, in_list(db.dialect.name, inputs.c.fingerprint, "keys")
    wanted = select(inputs.c.fingerprint, func.min(inputs.c.line)).where(*mine).group_by(inputs.c.fingerprint)
    return {row[0]: row[1] for row in db.execute(wanted, {"keys": keys})}
