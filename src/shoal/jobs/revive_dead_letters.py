"""Revives dead letters: returns them to the frontier and reopens a job that had ended."""

from __future__ import annotations

import time

from shoal.errors import UsageError
from shoal.frontier.contract import Caller
from shoal.frontier.serialize import request_of
from shoal.jobs.deployment import Deployment
from shoal.model import JobState
from shoal.store.crawl.dead_letters import dead_letters, forget_dead
from shoal.store.job_state import reopen_ended
from shoal.store.jobs import Job
from shoal.store.results.listings import Where

WAITS = "dead letters are queued again; resume the job to fetch them"


async def revive(place: Deployment, job: Job, where: Where) -> int:
    """Queues the matching dead letters and returns their number; safe to repeat if it was interrupted.

    A job that has not ended keeps its state: a paused one stays paused. Raises UsageError if the job was cancelled,
    also if that happens meanwhile.
    """
    if job.state is JobState.CANCELLED:
        raise _cancelled(job)
    if next(dead_letters(place.store, job.id, where), None) is None:
        # The frontier need not know the job: it may not have started.
        return 0
    caller = Caller(f"revive-{job.id}-{time.time()}")
    revived = 0
    async with place.reopened(job) as state:
        for letters in dead_letters(place.store, job.id, where):
            # State, frontier, store: if this is interrupted after any of them, the letters are still there, and the
            # frontier ignores those that it has queued already.
            _reopen(place, job, state)
            await place.frontier.revive(caller.next(), job.id, [request_of(letter.request) for letter in letters])
            forget_dead(place.store, letters)
            revived += len(letters)
        if revived:
            # Another process may have found the job empty, and ended it, before the first letter was back.
            _reopen(place, job, state)
    return revived


def _reopen(place: Deployment, job: Job, state: JobState) -> None:
    reason = WAITS if state is JobState.INTERRUPTED else None
    if not reopen_ended(place.store, job.id, state, time.time(), reason):
        raise _cancelled(job)


def _cancelled(job: Job) -> UsageError:
    return UsageError(f"job {job.id} was cancelled and cannot be reopened: crawl what is missing in a new job")
