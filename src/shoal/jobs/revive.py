"""Dead letters go back to the frontier, and a job that had ended becomes one that can go on."""

from __future__ import annotations

import time

from shoal.errors import UsageError
from shoal.frontier.contract import Caller
from shoal.frontier.record import request_of
from shoal.jobs.place import Place
from shoal.model import JobState
from shoal.store.dead import dead_letters, forget_dead
from shoal.store.jobs import Job, reopen_ended
from shoal.store.records import Where

WAITS = "dead letters are queued again, and wait for it to be resumed"


async def revive(place: Place, job: Job, where: Where) -> int:
    """Queues the dead letters that match and says how many they were; repeat it after whatever ended it.

    A job that has not ended stays as it is: one that is paused goes on when it is told to. Raises UsageError of one
    that was cancelled, also while this is under way.
    """
    if job.state is JobState.CANCELLED:
        raise _cancelled(job)
    if next(dead_letters(place.store, job.id, where), None) is None:
        # The frontier need not know the job: it may not have begun.
        return 0
    caller = Caller(f"revive-{job.id}-{time.time()}")
    revived = 0
    async with place.reopened(job) as state:
        for letters in dead_letters(place.store, job.id, where):
            # State, frontier, store: cut off after any of them, the letters still stand, and the frontier
            # passes over those that it has queued already.
            _reopen(place, job, state)
            await place.frontier.revive(caller.next(), job.id, [request_of(letter.request) for letter in letters])
            forget_dead(place.store, letters)
            revived += len(letters)
        if revived:
            # Whoever ends jobs may have found this one empty before the first letter was back.
            _reopen(place, job, state)
    return revived


def _reopen(place: Place, job: Job, state: JobState) -> None:
    reason = WAITS if state is JobState.INTERRUPTED else None
    if not reopen_ended(place.store, job.id, state, time.time(), reason):
        raise _cancelled(job)


def _cancelled(job: Job) -> UsageError:
    return UsageError(f"job {job.id} was cancelled, which is for good: crawl what is missing in a job of its own")
