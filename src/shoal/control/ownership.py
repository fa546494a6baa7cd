"""Decides which jobs and schedules a request may see, and who owns those that it creates.

A submit token owns the jobs and schedules it creates, and sees no others: another token's job gets the same answer as
a job that does not exist. Admins and readers see everything. What an admin creates has no owner, so all admins control
it. With `shared_jobs` nothing has an owner. `routes.py` finds the job or schedule of a path through this module before
it calls the endpoint, so no endpoint can forget the check.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from shoal.control.async_bridge import bridge
from shoal.control.auth import holder, requester
from shoal.control.problems import Problem
from shoal.errors import UnknownJob
from shoal.jobs.job_id import is_job_id
from shoal.jobs.job_overview import Overview
from shoal.model import Requester
from shoal.store import jobs
from shoal.store.fleet import schedules
from shoal.store.fleet.schedules import Schedule
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import Job, load_job
from shoal.store.results.pagination import jobs_after


def owner() -> str | None:
    """The token whose jobs and schedules this request sees and creates; None: it sees all, and sets no owner."""
    token = holder()
    owns = token.scope is TokenScope.SUBMIT and not bridge().settings.shared_jobs
    return token.id if owns else None


def find(id: str) -> Job:
    """Raises UnknownJob, also for another owner's job, and for a job that `shoal crawl` runs in the home."""
    job = load_job(bridge().store, id, owner())
    if not job.fleet:
        raise UnknownJob(f"job {id} does not belong to the fleet: `shoal crawl` runs it in the home")
    return job


def find_confirmed(name: str, confirm: str | None) -> Job:
    """By full id; or by anything that names the job, if `confirm` is its id. Raises UnknownJob or a Problem."""
    if is_job_id(name):
        return find(name)
    job = find_job(name)
    if confirm != job.id:
        asked = "" if confirm is None else f", not job {confirm!r}"
        detail = (
            f"{name!r} names job {job.id}{asked}: DELETE it by its id, or add ?confirm={job.id}; "
            "without that, a repeated call would remove another job"
        )
        raise Problem(409, detail)
    return job


def find_job(name: str) -> Job:
    """By id, id prefix, name or "last". Raises UsageError unless exactly one job matches."""
    if is_job_id(name):
        with suppress(UnknownJob):
            return find(name)
    store, whose = bridge().store, owner()
    newest = jobs_after(store, {} if whose is None else {"owner": whose}, None, 1) if name == "last" else ()
    if newest:
        return newest[0][1]
    return find(jobs.find_job(store, name, whose, fleet_only=True).id)


def find_schedule(name: str) -> Schedule:
    """By id or name. Raises a Problem."""
    found = schedules.find_schedule(bridge().store, name, owner())
    if found is None:
        raise Problem(404, f"there is no schedule {name!r}")
    return found


def shown_job(job: Job) -> Job:
    """The job as the caller may see it: readers do not see the owner, because only admins may list tokens."""
    return job if requester() is Requester.ADMIN or job.owner == holder().id else replace(job, owner=None)


def shown_overview(seen: Overview) -> Overview:
    job = shown_job(seen.job)
    return seen if job.owner else replace(seen, job=job, owner=None)
