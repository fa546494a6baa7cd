"""The full details of a job, so that commands show the same through the API as on the fleet."""

from __future__ import annotations

from dataclasses import replace

from shoal.client.responses.jobs import Series, Size
from shoal.control.api.records import explained
from shoal.control.async_bridge import bridge
from shoal.control.job_figures import overview_of
from shoal.control.models.job_detail import ExplanationShown, JobShown, OverviewShown, QualityShown, ShapeShown
from shoal.control.models.records import ExplainQuery
from shoal.control.ownership import shown_job
from shoal.control.routes import READ, Reply, Routes
from shoal.jobs.explain import Record
from shoal.jobs.job_quality import job_quality
from shoal.jobs.job_series import job_series, point_record
from shoal.jobs.mask_secrets import without_secrets
from shoal.model import DeadLetter
from shoal.store.archive.segment_table import archived_bytes
from shoal.store.jobs import Job
from shoal.store.results.crawl_shape import crawl_shape
from shoal.store.results.database_size import database_bytes

routes = Routes("whole")


@routes.get("/jobs/<id>/spec", READ, answers={200: JobShown})
def spec(job: Job) -> Reply:
    """The job's options, without secrets."""
    return JobShown(shown_job(without_secrets(job)))


@routes.get("/jobs/<id>/overview", READ, answers={200: OverviewShown})
def overview(job: Job) -> Reply:
    """Everything about a job: its figures, failures by kind and host, traps and options."""
    seen = overview_of(job)
    return OverviewShown(replace(seen, job=without_secrets(seen.job)))


@routes.get("/jobs/<id>/quality", READ, answers={200: QualityShown})
def quality(job: Job) -> Reply:
    """The quality of a job's items, compared with the previous run."""
    now, before = job_quality(bridge().store, job)
    return QualityShown(now=now, before=before)


@routes.get("/jobs/<id>/series", READ, answers={200: Series})
def series(job: Job) -> Reply:
    """How the job went over time: pages, statuses, items, latency and queue by the minute."""
    return {"points": [point_record(point) for point in job_series(bridge().store, job)]}


@routes.get("/jobs/<id>/size", READ, answers={200: Size})
def size(job: Job) -> Reply:
    """How much the job has stored: the bytes of its rows, which are all read, and of its archive."""
    store = bridge().store
    return {"database_bytes": database_bytes(store, job.id), "archive_bytes": archived_bytes(store, job.id)}


@routes.get("/jobs/<id>/shape", READ, answers={200: ShapeShown})
def shape(job: Job) -> Reply:
    """The shape of the crawl: pages by depth and size, the slowest hosts, and which pages and hosts led to which."""
    return ShapeShown(crawl_shape(bridge().store, job.id))


@routes.get("/jobs/<id>/explanation", READ, answers={200: ExplanationShown}, query=ExplainQuery)
def explanation(job: Job, query: ExplainQuery) -> Reply:
    """The data behind `explain`: the records of a URL and of its redirects."""
    found = explained(job, query.url)
    hops = [_shown(hop) for hop in found.hops]
    return ExplanationShown(replace(found, record=found.record and _shown(found.record), hops=hops))


def _shown(record: Record) -> Record:
    # The data that a spider attached to a request stays private.
    return replace(record, request="") if isinstance(record, DeadLetter) else record
