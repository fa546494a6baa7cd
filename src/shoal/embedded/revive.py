"""Dead letters go back to the frontier, and a job that had ended becomes one that can be resumed."""

from __future__ import annotations

import time

from shoal.embedded.home import Home
from shoal.errors import UsageError
from shoal.frontier.contract import Caller
from shoal.frontier.record import request_of
from shoal.model import JobState
from shoal.store.dead import dead_letters, forget_dead
from shoal.store.jobs import load_job, set_state
from shoal.store.records import Where


async def revive(home: Home, job_id: str, where: Where) -> int:
    """Queues the dead letters that match and says how many they were; repeat it after whatever ended it.

    Raises Unavailable while a crawl runs in this home: a job that ended meanwhile would forget them.
    """
    if load_job(home.store, job_id).state is JobState.CANCELLED:
        raise UsageError(f"job {job_id} was cancelled, which is for good: crawl what is missing in a job of its own")
    caller = Caller(f"revive-{job_id}-{time.time()}")
    revived = 0
    with home.locked(job_id):
        for letters in dead_letters(home.store, job_id, where):
            # State, frontier, store: cut off after any of them, the letters still stand, and the frontier
            # passes over those that it has queued already.
            set_state(home.store, job_id, JobState.INTERRUPTED, time.time())
            await home.frontier.revive(caller.next(), job_id, [request_of(letter.request) for letter in letters])
            forget_dead(home.store, letters)
            revived += len(letters)
    return revived
