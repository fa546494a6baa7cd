"""A job whole: what a command needs of it to show the same from afar as on the fleet."""

from __future__ import annotations

from dataclasses import replace

from shoal.control.api.records import explained
from shoal.control.bridge import bridge
from shoal.control.figures import overview_of
from shoal.control.models.records import ExplainQuery
from shoal.control.models.whole import ExplanationShown, JobShown, OverviewShown, QualityShown
from shoal.control.ownership import shown_job
from shoal.control.routes import READ, Reply, Routes
from shoal.jobs.explain import Record
from shoal.jobs.quality import job_quality
from shoal.jobs.secrets import without_secrets
from shoal.model import DeadLetter
from shoal.store.jobs import Job

routes = Routes("whole")


@routes.get("/jobs/<id>/spec", READ, answers={200: JobShown}, by_name=True)
def spec(job: Job) -> Reply:
    """What a job was asked to do, without its secrets; by its id, the beginning of one, or `last`."""
    return JobShown(shown_job(without_secrets(job)))


@routes.get("/jobs/<id>/overview", READ, answers={200: OverviewShown})
def overview(job: Job) -> Reply:
    """Everything about a job at once: its figures, failures by kind and host, traps, and what was asked for."""
    seen = overview_of(job)
    return OverviewShown(replace(seen, job=without_secrets(seen.job)))


@routes.get("/jobs/<id>/quality", READ, answers={200: QualityShown})
def quality(job: Job) -> Reply:
    """How good a job's items are, beside those of the last run before it."""
    now, before = job_quality(bridge().store, job)
    return QualityShown(now=now, before=before)


@routes.get("/jobs/<id>/explanation", READ, answers={200: ExplanationShown}, query=ExplainQuery)
def explanation(job: Job, query: ExplainQuery) -> Reply:
    """All that `explain` is made of: the records of a URL and of where it leads."""
    told = explained(job, query.url)
    hops = [_shown(hop) for hop in told.hops]
    return ExplanationShown(replace(told, record=told.record and _shown(told.record), hops=hops))


def _shown(record: Record) -> Record:
    # What a spider gave a request to carry is nobody's business.
    return replace(record, request="") if isinstance(record, DeadLetter) else record
