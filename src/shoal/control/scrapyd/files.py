"""What a job has logged and scraped, where scrapyd's clients look for it: `logs` and `items`, below the same prefix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from flask import Blueprint, Response, request

from shoal.control.async_bridge import bridge
from shoal.control.encoded_slashes import with_slashes
from shoal.control.ownership import owner
from shoal.control.problems import Problem
from shoal.control.scrapyd.calls import READ, add_rules, admit
from shoal.control.streamed_files import SENT_AT_ONCE, attachment
from shoal.fleet.scrapy_logs import scrapy_logs
from shoal.jobs.data_view import DataView
from shoal.jobs.job_data import job_data
from shoal.store.fleet.scrapyd_jobs import scrapyd_jobs_of_id
from shoal.store.jobs import Job
from shoal.store.results.row_formats import chunks

blueprint = Blueprint("scrapyd_files", __name__)
LOG, ITEMS = ".log", ".jl"


def logs(project: str, spider: str, name: str) -> Response:
    """As far as the machine of the API has it."""
    admit(READ)
    job = _found(project, spider, name, LOG)
    paths = _log_paths(job)
    if not paths:
        raise Problem(404, f"the log of job {job.id} is not on the machine of the API: look at its worker")
    return attachment(_read(paths), "text/plain; charset=utf-8", f"{job.id}{LOG}")


def items(project: str, spider: str, name: str) -> Response:
    """As JSON lines; of a job that runs, those that are stored so far."""
    admit(READ)
    job = _found(project, spider, name, ITEMS)
    return attachment(_lines(job), "application/x-ndjson", f"{job.id}{ITEMS}")


add_rules(blueprint, "/logs/<project>/<spider>/<name>", "logs", logs)
add_rules(blueprint, "/items/<project>/<spider>/<name>", "items", items)


def file_urls(job: Job) -> dict[str, str | None]:
    """As paths on this server; None: the machine of the API does not have the log."""
    run = job.spec.scrapy_run
    assert run is not None
    prefix = request.script_root + request.path.rpartition("/")[0].rstrip("/")
    place = "/".join(quote(str(part), safe="") for part in (run.name, job.spec.scrapy, run.jobid))
    has_log = bool(_log_paths(job))
    return {
        "log_url": f"{prefix}/logs/{place}{LOG}" if has_log else None,
        "items_url": f"{prefix}/items/{place}{ITEMS}",
    }


def _found(project: str, spider: str, name: str, ending: str) -> Job:
    project, spider, name = (with_slashes(part) for part in (project, spider, name))
    if name.endswith(ending):
        for job in scrapyd_jobs_of_id(bridge().store, owner(), name.removesuffix(ending), project):
            if job.spec.scrapy == spider:
                return job
    raise Problem(404, f"there is no {name!r} of spider {spider!r} in project {project!r}")


def _log_paths(job: Job) -> list[Path]:
    """Of all processes, each with the part that was rotated before."""
    assert job.spec.scrapy_run is not None
    folder, processes = scrapy_logs(bridge().settings.home), job.spec.scrapy_run.processes
    paths = (folder / f"{job.id}-{slot}{LOG}{old}" for slot in range(processes) for old in (".1", ""))
    return [path for path in paths if path.is_file()]


def _read(paths: list[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(SENT_AT_ONCE):
                yield piece


def _lines(job: Job) -> Iterator[bytes]:
    with job_data(bridge().store, job, "items", {}, DataView((), False)) as data:
        for chunk in chunks(data.rows, "jsonl", data.columns):
            yield chunk.data
