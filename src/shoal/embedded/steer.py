"""An operator's word on a job or a host, given from another terminal: written to the databases, where a running
crawl finds it at its next lease."""

from __future__ import annotations

import time
from difflib import get_close_matches

from shoal.embedded.home import Home
from shoal.embedded.standing import standing, worker_of
from shoal.errors import UsageError
from shoal.frontier.contract import HostState
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job, set_state

NAMES_NEAR = 3


async def pause(home: Home, job: Job) -> object:
    """Gives the process that holds still; what it has in flight ends first."""
    state = (await standing(home, job)).state
    worker = worker_of(home, job.id)
    if state in ENDED or worker is None:
        way_out = (
            "" if state in ENDED else f"; `shoal resume {job.id}` goes on with it, `shoal cancel {job.id}` ends it"
        )
        raise UsageError(f"job {job.id} is {state}: there is nothing to pause{way_out}")
    await home.frontier.pause(job.id)
    return worker


async def cancel(home: Home, job: Job) -> object | None:
    """Gives the process that ends the job as soon as what it has in flight is saved; None: it has ended here."""
    state = (await standing(home, job)).state
    if state in ENDED:
        raise UsageError(f"job {job.id} is {state}: there is nothing to cancel")
    worker = worker_of(home, job.id)
    if worker is not None:
        await home.frontier.cancel(job.id)
        # Said here as well: a process that is killed before it has seen the word would leave a job to be resumed.
        set_state(home.store, job.id, JobState.CANCELLED, time.time())
        return worker
    if home.holder() is None:
        # What a killed process had leased returns to the queue, so that the job's figures add up. If another job
        # is crawled here now, that has been done when its crawl began.
        with home.locked(job.id):
            await home.frontier.reap(home.mark.left_behind(), all_leases=True)
            home.mark.clear()
    if job.started_at:
        await home.frontier.cancel(job.id)
    set_state(home.store, job.id, JobState.CANCELLED, time.time())
    return None


async def find_host(home: Home, name: str) -> HostState:
    hosts = {host.name: host for host in await home.frontier.hosts()}
    found = hosts.get(name.lower())
    if found is None:
        near = get_close_matches(name.lower(), hosts, NAMES_NEAR)
        known = f"; there is {', '.join(near)}" if near else "; `shoal hosts --all` lists them"
        raise UsageError(f"there is no host {name!r} here{known}")
    return found
