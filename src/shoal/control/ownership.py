"""Whose jobs and schedules a request may see, and whose are those that it makes.

What a submit token makes belongs to that token, and to a submit token nothing else exists: another's job is answered
like one that there is not. Admins and readers see everything; what an admin makes belongs to no token, and so to all
admins. With `shared_jobs` nothing belongs to a token. `routes.py` finds the job or schedule that a path names through
this module before the endpoint is called, so no endpoint can forget it.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.control.auth import asker, holder
from shoal.control.bridge import bridge
from shoal.control.problems import Problem
from shoal.errors import UnknownJob
from shoal.jobs.overview import Overview
from shoal.model import Asker
from shoal.store import schedules
from shoal.store.jobs import Job, find_job, load_job
from shoal.store.paging import jobs_after
from shoal.store.schedules import Schedule
from shoal.store.tokens import Scope


def owner() -> str | None:
    """The token whose jobs and schedules this request sees and makes; None: it sees all, and makes nobody's."""
    token = holder()
    owns = token.scope is Scope.SUBMIT and not bridge().settings.shared_jobs
    return token.id if owns else None


def find(id: str) -> Job:
    """Raises UnknownJob, of another's job too; the jobs of a home that its own process crawls are not the fleet's."""
    job = load_job(bridge().store, id, owner())
    if not job.fleet:
        raise UnknownJob(f"job {id} is not the fleet's: it was crawled by `shoal crawl` in the home")
    return job


def find_named(name: str) -> Job:
    """By its id, the beginning of one, or "last". Raises UsageError unless there is just one."""
    store, whose = bridge().store, owner()
    newest = jobs_after(store, {} if whose is None else {"owner": whose}, None, 1) if name == "last" else ()
    if newest:
        return newest[0][1]
    return find(find_job(store, name, whose).id)


def find_schedule(name: str) -> Schedule:
    """By its id or name. Raises a Problem."""
    found = schedules.find_schedule(bridge().store, name, owner())
    if found is None:
        raise Problem(404, f"there is no schedule {name!r}")
    return found


def shown_job(job: Job) -> Job:
    """As the caller may see it: a reader is not told which token it belongs to, since only admins list tokens."""
    return job if asker() is Asker.ADMIN or job.owner == holder().id else replace(job, owner=None)


def shown_overview(seen: Overview) -> Overview:
    job = shown_job(seen.job)
    return seen if job.owner else replace(seen, job=job, owner=None)
