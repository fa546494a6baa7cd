"""More URLs for a job of the fleet, as they arrive: stored part by part, and tend is rung, who offers them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from shoal.errors import FrontierLost, Unavailable, UsageError
from shoal.fleet.place import Fleet
from shoal.model import Input, JobState
from shoal.spiders.sources import BAD_KEPT, BadLine
from shoal.store.appending import Part, append_inputs
from shoal.store.jobs import Job, load_job
from shoal.store.waiting import waiting

PART = 2_000


@dataclass
class Added:
    accepted: int = 0
    """Distinct requests that are new to the job."""
    duplicates: int = 0
    rejected: int = 0
    bad: list[BadLine] = field(default_factory=list)
    """The first of the rejected, by their place in what was appended."""

    def add(self, part: Part, noted: _Noted) -> None:
        self.accepted += part.accepted
        self.duplicates += part.duplicates
        self.rejected += noted.rejected
        self.bad += noted.bad[: BAD_KEPT - len(self.bad)]


class TooMuchQueued(Unavailable):
    """The frontier has no room for what the job has already. Says what became of the lines that were stored before."""

    def __init__(self, job: str, line: int, added: Added) -> None:
        counts = f"{added.accepted:,} accepted, {added.duplicates:,} duplicates, {added.rejected:,} rejected"
        kept = f"lines up to {line:,} are kept ({counts}), send the rest later"
        nothing = "nothing of this call is kept, send it later"
        super().__init__(f"as many URLs of job {job} are queued as may be; {kept if line else nothing}")


class _Noted:
    """Inputs that are gone over as often as it takes to store them; what is wrong with them is noted each time anew."""

    def __init__(self, given: Iterable[Input]) -> None:
        self._given = given

    def __iter__(self) -> Iterator[Input]:
        self.rejected, self.bad = 0, list[BadLine]()
        for one in self._given:
            if one.reason is not None:
                self.rejected += 1
                if len(self.bad) < BAD_KEPT:
                    self.bad.append(BadLine(one.line, one.spelt, one.reason))
            yield one


async def append(fleet: Fleet, job: Job, given: Iterable[Input], *, whole: bool = False) -> Added:
    """A job that has ended goes on with them. `whole`: all or nothing is stored, so they may be gone over twice.

    Raises TooMuchQueued at the frontier's cap, and UsageError of a job that was cancelled.
    """
    await fleet.frontier.connection.check()
    added, line, offset = Added(), 0, None
    if whole:
        _check_room(fleet, job, line, added)
        await _store(fleet, job, given, offset, added)
        return added
    for part in _parts(given):
        _check_room(fleet, job, line, added)
        offset = await _store(fleet, job, part, offset, added)
        line = part[-1].line
    return added


def _check_room(fleet: Fleet, job: Job, line: int, added: Added) -> None:
    if waiting(fleet.store, job.id, 1):
        raise TooMuchQueued(job.id, line, added)


def _parts(given: Iterable[Input]) -> Iterator[list[Input]]:
    remaining = iter(given)
    while part := list(islice(remaining, PART)):
        yield part


async def _store(fleet: Fleet, job: Job, given: Iterable[Input], offset: int | None, added: Added) -> int:
    erased, noted = False, _Noted(given)
    while (stored := append_inputs(fleet.store, job.id, noted, offset, time.time(), reopening=erased)) is None:
        if load_job(fleet.store, job.id).state is JobState.CANCELLED:
            raise UsageError(f"job {job.id} was cancelled, which is for good: submit these URLs as a job of their own")
        # What had ended is in the store and nowhere else, perhaps: tend restores it from there.
        with suppress(FrontierLost):
            await fleet.frontier.erase(job.id)
        erased = True
    added.add(stored, noted)
    if stored.accepted:
        with suppress(Unavailable):
            await fleet.ring()
    return stored.offset
