"""Appends URLs to a job of the fleet while they arrive: stores them in parts and wakes tend, which offers them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from shoal.errors import FrontierLost, Unavailable, UsageError
from shoal.fleet.fleet import Fleet
from shoal.model import Input, JobState
from shoal.spiders.input_sources import BAD_KEPT, BadLine
from shoal.store.crawl.append_inputs import InputPart, append_inputs
from shoal.store.crawl.overflow import overflow_offers
from shoal.store.jobs import Job, load_job
from shoal.wording import plural

PART = 2_000


@dataclass
class Added:
    accepted: int = 0
    """Distinct requests that are new to the job."""
    duplicates: int = 0
    rejected: int = 0
    bad: list[BadLine] = field(default_factory=list)
    """The first rejected lines, by their line number in this call."""

    def add(self, part: InputPart, noted: _Noted) -> None:
        self.accepted += part.accepted
        self.duplicates += part.duplicates
        self.rejected += noted.rejected
        self.bad += noted.bad[: BAD_KEPT - len(self.bad)]


class TooMuchQueued(Unavailable):
    """The job's queue in the frontier is full. The message says which lines of this call were stored."""

    def __init__(self, job: str, line: int, added: Added) -> None:
        counts = f"{added.accepted:,} accepted, {plural(added.duplicates, 'duplicate')}, {added.rejected:,} rejected"
        kept = f"lines up to {line:,} are stored ({counts}), send the rest later"
        nothing = "nothing of this call is stored, send it again later"
        super().__init__(f"the queue of job {job} is full; {kept if line else nothing}")


class _Noted:
    """Iterates over inputs, more than once if storing is repeated, and collects the rejected ones of each pass."""

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
    """Appends inputs; a job that has ended is reopened. `whole`: stores all or nothing, and may iterate twice.

    Raises TooMuchQueued at the frontier's limit, and UsageError for a cancelled job.
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
    if overflow_offers(fleet.store, job.id, 1):
        raise TooMuchQueued(job.id, line, added)


def _parts(given: Iterable[Input]) -> Iterator[list[Input]]:
    remaining = iter(given)
    while part := list(islice(remaining, PART)):
        yield part


async def _store(fleet: Fleet, job: Job, given: Iterable[Input], offset: int | None, added: Added) -> int:
    erased, noted = False, _Noted(given)
    while (stored := append_inputs(fleet.store, job.id, noted, offset, time.time(), reopening=erased)) is None:
        if load_job(fleet.store, job.id).state is JobState.CANCELLED:
            raise UsageError(f"job {job.id} is cancelled and takes no more URLs: submit them as a new job")
        # An ended job may exist only in the store: tend restores it from there.
        with suppress(FrontierLost):
            await fleet.frontier.erase(job.id)
        erased = True
    added.add(stored, noted)
    if stored.accepted:
        with suppress(Unavailable):
            await fleet.ring()
    return stored.offset
