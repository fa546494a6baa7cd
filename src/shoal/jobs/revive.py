"""Dead letters go back to the frontier, and a job that had ended becomes one that can go on."""

from __future__ import annotations

import time

from shoal.errors import UsageError
from shoal.frontier.contract import Caller
from shoal.frontier.record import request_of
from shoal.jobs.place import Place
from shoal.model import JobState
from shoal.store.dead import dead_letters, forget_dead
from shoal.store.jobs import Job, set_state
from shoal.store.records import Where


async def revive(place: Place, job: Job, where: Where) -> int:
    """Queues the dead letters that match and says how many they were; repeat it after whatever ended it."""
    if job.state is JobState.CANCELLED:
        raise UsageError(f"job {job.id} was cancelled, which is for good: crawl what is missing in a job of its own")
    caller = Caller(f"revive-{job.id}-{time.time()}")
    revived = 0
    async with place.reopened(job) as state:
        for letters in dead_letters(place.store, job.id, where):
            # State, frontier, store: cut off after any of them, the letters still stand, and the frontier
            # passes over those that it has queued already.
            set_state(place.store, job.id, state, time.time())
            await place.frontier.revive(caller.next(), job.id, [request_of(letter.request) for letter in letters])
            forget_dead(place.store, letters)
            revived += len(letters)
        if revived:
            # Whoever ends jobs may have found this one empty before the first letter was back.
            set_state(place.store, job.id, state, time.time())
    return revived
