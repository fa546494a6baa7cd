"""Jobs: submit, list, read, pause, resume, cancel and remove them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from shoal.client.responses.jobs import Job as JobResponse
from shoal.client.responses.jobs import JobList, Steered
from shoal.client.responses.jobs import Submitted as SubmittedResponse
from shoal.control.async_bridge import bridge
from shoal.control.auth import requester, require_for
from shoal.control.cursor import cursor, place_of
from shoal.control.idempotency import claimed_job_id
from shoal.control.job_figures import figures_of
from shoal.control.models.jobs import JobOrder, JobsQuery, RemovalQuery, ScrapyGiven
from shoal.control.ownership import owner
from shoal.control.problems import conflict, has_ended
from shoal.control.routes import READ, SUBMIT, Reply, Routes
from shoal.control.scrapyd.project_runs import ordered_spec
from shoal.errors import FrontierLost, UnknownJob
from shoal.fleet.fleet import Fleet
from shoal.fleet.scrapy_spec import no_sources
from shoal.fleet.submit import Submitted, read_request
from shoal.fleet.submit import submit as submit_to_fleet
from shoal.jobs.job_id import new_job_id
from shoal.model import ENDED, JobState
from shoal.store.crawl.inputs import input_counts
from shoal.store.job_removal import remove_job
from shoal.store.jobs import Job, load_job
from shoal.store.results.pagination import jobs_after

routes = Routes("jobs")
_LISTING = "jobs"


@routes.post("/jobs", SUBMIT, answers={201: SubmittedResponse}, body=JobOrder, counted=True, keyed=True)
def submit(body: JobOrder) -> Reply:
    """Submit a job.

    The job is stored with its URLs before the answer is sent. The answer lists URLs that cannot be fetched, with the
    reason; the others are crawled. With `"urls": []` the job waits for appended URLs. With `scrapy`, workers run a
    spider of a Scrapy project. With an Idempotency-Key a repeated request does not create a second job.
    """
    options = body.options()
    require_for(options, body.rules)
    id = claimed_job_id()
    if id is not None and (made := _made_before(id)):
        return made, 201
    if body.scrapy is not None:
        return _submit_scrapy(body, body.scrapy, id or new_job_id()), 201

    async def make(fleet: Fleet) -> Submitted:
        given = body.urls, body.rules, body.spider
        sources, spec_once_read = read_request(fleet.settings, *given, options, requester(), body.urls_follow)
        return await submit_to_fleet(fleet, sources, spec_once_read, id, owner())

    submitted = bridge().run_apart(make)
    rejected = [{"url": bad.spelt, "reason": bad.reason} for bad in submitted.bad]
    return _created(submitted.id, submitted.accepted, submitted.duplicates, rejected, submitted.rejected), 201


def _submit_scrapy(body: JobOrder, given: ScrapyGiven, id: str) -> dict[str, Any]:
    spec = ordered_spec(body, given, id)
    bridge().run_apart(lambda fleet: submit_to_fleet(fleet, no_sources(), lambda: spec, id, owner()))
    return _created(id, 0, 0, [], 0)


@routes.get("/jobs", READ, answers={200: JobList}, query=JobsQuery)
def jobs(query: JobsQuery) -> Reply:
    """List the jobs that the token may see, newest first."""
    wanted = {"state": query.state, "lane": query.lane, "name": query.name, "owner": owner()}
    where = {name: str(value) for name, value in wanted.items() if value is not None}
    after = place_of(query.cursor, _LISTING, (float, str))
    found = jobs_after(bridge().store, where, after, query.limit + 1)
    shown = found[: query.limit]
    more = len(found) > query.limit
    return {"jobs": [figures_of(job) for _, job in shown], "next": cursor(_LISTING, shown[-1][0]) if more else None}


@routes.get("/jobs/<id>", READ, answers={200: JobResponse})
def job(job: Job) -> Reply:
    """One job's figures."""
    return figures_of(job)


@routes.delete("/jobs/<id>", SUBMIT, query=RemovalQuery, answers={204: None}, confirmed=True)
def remove(job: Job, query: RemovalQuery) -> Reply:
    """Remove a job that has ended, with all its data.

    This deletes its pages, items, dead letters and archive. Cancel a job that has not ended first. A call that names
    the job by `last`, its name or the beginning of its id needs `confirm`: otherwise a repeated call would remove the
    next job.
    """
    if job.state not in ENDED:
        raise conflict(f"job {job.id} is {job.state}: cancel it first")
    over = bridge()
    over.run(_forget(over.fleet, job.id))
    with over.apart() as fleet:
        remove_job(fleet.store, fleet.archive, job)
    return None


@routes.post("/jobs/<id>/pause", SUBMIT, answers={200: Steered})
def pause(job: Job) -> Reply:
    """Pause a job; requests in flight are finished."""
    _check_not_ended(job, "pause")
    return _steered(job, JobState.PAUSED, bridge().run_apart(lambda fleet: fleet.pause(job)))


@routes.post("/jobs/<id>/resume", SUBMIT, answers={200: Steered})
def resume(job: Job) -> Reply:
    """Continue a paused job.

    To continue a job that reached a limit, raise that limit; the answer names the call.
    """
    _check_not_ended(job, "resume")
    message = bridge().run_apart(lambda fleet: fleet.resume(job))
    return _steered(job, JobState.RUNNING if job.started_at else JobState.QUEUED, message)


@routes.post("/jobs/<id>/cancel", SUBMIT, answers={200: Steered})
def cancel(job: Job) -> Reply:
    """Cancel a job for good and keep its data."""
    _check_not_ended(job, "cancel")
    return _steered(job, JobState.CANCELLED, bridge().run_apart(lambda fleet: fleet.cancel(job)))


def _check_not_ended(job: Job, verb: str) -> None:
    if job.state in ENDED:
        raise has_ended(verb, job)


def _steered(job: Job, state: JobState, message: str) -> dict[str, Any]:
    return {"id": job.id, "state": state, "detail": message}


def _made_before(id: str) -> dict[str, Any] | None:
    """The job of a process that died before it could answer."""
    with suppress(UnknownJob):
        load_job(bridge().store, id)
        counts = input_counts(bridge().store, id)
        return _created(id, counts.accepted, counts.duplicates, [], counts.rejected)
    return None


def _created(id: str, accepted: int, duplicates: int, rejected: list[Any], rejected_count: int) -> dict[str, Any]:
    stored = load_job(bridge().store, id)
    return {
        "id": id,
        "name": stored.spec.name,
        "state": stored.state,
        "accepted": accepted,
        "duplicates": duplicates,
        "rejected": rejected,
        "rejected_count": rejected_count,
    }


async def _forget(fleet: Fleet, id: str) -> None:
    with suppress(FrontierLost):
        if (await fleet.frontier.figures(id)).leased:
            raise conflict(f"workers are still saving requests of job {id}: try again", retry_s=5)
        await fleet.frontier.erase(id)
