"""Jobs: schedule, cancel and list them. The states are scrapyd's: pending, running and finished."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shoal.control.async_bridge import bridge
from shoal.control.auth import requester
from shoal.control.ownership import owner
from shoal.control.rate_limits import count_submit
from shoal.control.scrapyd.arguments import Arguments
from shoal.control.scrapyd.calls import READ, SUBMIT, Calls
from shoal.control.scrapyd.files import file_urls
from shoal.control.scrapyd.known_projects import Project, check_known, find_project
from shoal.control.scrapyd.project_runs import project_run
from shoal.errors import Unavailable, UsageError
from shoal.fleet.scheduled_projects import JOBID
from shoal.fleet.scrapy_spec import no_sources, scrapy_spec
from shoal.fleet.submit import submit
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.jobs.job_id import new_job_id
from shoal.jobs.mask_secrets import without_secrets
from shoal.model import ENDED, JobSpec, ScrapyRun
from shoal.model.options import bound_of
from shoal.store.fleet.scrapyd_jobs import (
    count_scrapyd_jobs,
    finished_scrapyd_jobs,
    scrapyd_jobs_of_id,
    unfinished_scrapyd_jobs,
)
from shoal.store.jobs import Job

calls = Calls("scrapyd_jobs")
FINISHED_SHOWN = 100
"""As many as scrapyd keeps."""
PROCESSES = "SHOAL_PROCESSES"
"""A setting that scrapyd does not know: how many processes run the spider."""
JOBID_CHARS = 200


@calls.get("/daemonstatus.json", READ)
def daemonstatus(given: Arguments) -> Mapping[str, Any]:
    pending, running, finished = count_scrapyd_jobs(bridge().store, owner())
    return {"pending": pending, "running": running, "finished": finished}


@calls.post("/schedule.json", SUBMIT)
def schedule(given: Arguments) -> Mapping[str, Any]:
    count_submit()
    project, spider = given.required("project"), given.required("spider")
    found = find_project(project, given.optional("_version"))
    found.check_spider(spider)
    id = new_job_id()
    jobid = given.optional("jobid") or id
    if len(jobid) > JOBID_CHARS:
        raise UsageError(f"jobid is invalid: it has more than {JOBID_CHARS} characters")
    spec = _spec(found, spider, jobid, given)
    bridge().run_apart(lambda fleet: submit(fleet, no_sources(), lambda: spec, id, owner()))
    return {"jobid": jobid}


@calls.post("/cancel.json", SUBMIT)
def cancel(given: Arguments) -> Mapping[str, Any]:
    project, jobid = given.required("project"), given.required("job")
    check_known(project)
    unfinished = [job for job in scrapyd_jobs_of_id(bridge().store, owner(), jobid, project) if job.state not in ENDED]
    states = {_state(job) for job in unfinished}
    for job in unfinished:
        _cancel(job)
    return {"prevstate": next((state for state in ("running", "pending") if state in states), None)}


@calls.get("/status.json", READ)
def status(given: Arguments) -> Mapping[str, Any]:
    jobid, project = given.required("job"), given.optional("project")
    check_known(project)
    found = scrapyd_jobs_of_id(bridge().store, owner(), jobid, project)
    return {"currstate": _state(found[0]) if found else None}


@calls.get("/listjobs.json", READ)
def listjobs(given: Arguments) -> Mapping[str, Any]:
    project = given.optional("project")
    check_known(project)
    store = bridge().store
    unfinished = unfinished_scrapyd_jobs(store, owner(), project)
    running = [job for job in unfinished if _state(job) == "running"]
    return {
        "pending": [_pending(job) for job in unfinished if _state(job) == "pending"],
        "running": [
            {**_about(job), "pid": pid, **_begun(job)} for job, pid in zip(running, _pids(running), strict=True)
        ],
        "finished": [_finished(job) for job in finished_scrapyd_jobs(store, owner(), FINISHED_SHOWN, project)],
    }


def _spec(found: Project, spider: str, jobid: str, given: Arguments) -> JobSpec:
    """Raises UsageError."""
    priority = bound_of("priority").nearest(round(given.number("priority")))
    settings = dict(_pair(text) for text in given.all("setting"))
    arguments = given.others()
    processes = _processes(settings.pop(PROCESSES, "1"))
    run = project_run(found, arguments, settings, processes, jobid)
    return scrapy_spec(spider, run, {"priority": int(priority)}).with_fields({"asked_by": requester()})


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"setting is invalid: {text!r} is not NAME=VALUE")
    return name, value


def _processes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise UsageError(f"setting is invalid: {PROCESSES}={text}: give a number from 1 to 1000")
    return int(text)


def _cancel(job: Job) -> None:
    try:
        bridge().run_apart(lambda fleet: fleet.cancel(job))
    except UsageError:
        # It has ended meanwhile.
        pass


def _state(job: Job) -> str:
    if job.state in ENDED:
        return "finished"
    return "pending" if job.started_at is None else "running"


def _pending(job: Job) -> dict[str, Any]:
    run = _run(without_secrets(job))
    arguments = {name: value for name, value in run.arguments.items() if name != JOBID}
    return {**_about(job), "version": run.version, "settings": dict(run.settings), "args": arguments}


def _finished(job: Job) -> dict[str, Any]:
    return {**_about(job), **_begun(job), "end_time": _time(job.finished_at or job.created_at)}


def _about(job: Job) -> dict[str, Any]:
    run = _run(job)
    return {"id": run.jobid, "project": run.name, "spider": job.spec.scrapy}


def _begun(job: Job) -> dict[str, Any]:
    # A job that failed before its spider began has no start.
    return {"start_time": _time(job.started_at or job.created_at), **file_urls(job)}


def _run(job: Job) -> ScrapyRun:
    assert job.spec.scrapy_run is not None
    return job.spec.scrapy_run


def _time(at: float) -> str:
    """In UTC, in the form that scrapyd has."""
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _pids(running: Sequence[Job]) -> list[int]:
    """Of one process of each job, on the machine of its worker; 0: no process works on it at the moment."""
    connection = bridge().connection

    async def found() -> list[list[str]]:
        return await asyncio.gather(*(OwnWorkers(connection, job.id).alive() for job in running))

    try:
        callers = bridge().run(found()) if running else []
    except Unavailable:
        return [0] * len(running)
    # scrapy-MACHINE-PID-TIME
    return [int(alive[0].split("-")[-2]) if alive else 0 for alive in callers]
