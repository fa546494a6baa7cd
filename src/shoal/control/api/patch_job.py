"""Changes a job while it runs."""

from __future__ import annotations

from functools import partial

from shoal.client.responses.jobs import Changed
from shoal.control.async_bridge import bridge
from shoal.control.auth import require_for, require_to_feed
from shoal.control.models.job_patch import ChangeQuery, JobChange
from shoal.control.problems import conflict, has_ended
from shoal.control.routes import SUBMIT, Reply, Routes
from shoal.fleet.fleet import Fleet
from shoal.fleet.patch_job import change_job
from shoal.jobs.preview_change import Preview, preview_change
from shoal.model import ENDED, JobSpec, JobState
from shoal.model.options import FIELDS, from_fields
from shoal.store.jobs import Job

routes = Routes("changes")
_SELECTING_LINKS = {field for field, option in FIELDS.items() if option.selects_links}


@routes.patch("/jobs/<id>", SUBMIT, answers={200: Changed}, body=JobChange, query=ChangeQuery)
def change_running(job: Job, body: JobChange, query: ChangeQuery) -> Reply:
    """Change limits, rate, scope, patterns, lane or priority of a job while it runs.

    Workers apply the change at their next lease: queued requests outside the new scope are dropped, and a wider scope
    applies to links found from now on. Only the fields in the request change, so two clients can change different
    fields at once; to avoid overwriting another client's change, send the `version` that you have read. With `preview`
    nothing is changed, and the answer says how many queued URLs would be dropped. If the job has options that need an
    admin, only an admin may change scope or patterns or raise limits. A job that reached a limit continues if you raise
    that limit.
    """
    if job.state in ENDED and not _reopens(body, job):
        raise has_ended("change", job)
    require_for(from_fields(body.given()), None)
    if query.preview:
        return _previewed(job, _applied(body, job.spec))
    changed = bridge().run_apart(lambda fleet: change_job(fleet, job.id, partial(_applied, body), query.version))
    if changed is None:
        raise conflict(f"job {job.id} is no longer at version {query.version}: read it again and repeat")
    return {"id": job.id, "version": changed.version}


def _reopens(body: JobChange, found: Job) -> bool:
    more = body.applied(found.spec).limits.allow_more_than(found.spec.limits)
    return found.state is JobState.LIMITED and more


def _applied(body: JobChange, spec: JobSpec) -> JobSpec:
    """Raises a Problem if the change could add URLs to the job that the caller may not append."""
    changed = body.applied(spec)
    if body.model_fields_set & _SELECTING_LINKS or changed.limits.allow_more_than(spec.limits):
        require_to_feed(spec)
    return changed


def _previewed(found: Job, spec: JobSpec) -> Reply:
    async def look(fleet: Fleet) -> Preview:
        return await preview_change(fleet, found, spec)

    seen = bridge().run_apart(look)
    return {
        "id": found.id,
        "version": found.version,
        "queued": seen.queued,
        "would_drop": seen.estimate,
        "is_estimate": seen.looked_at < seen.queued,
    }
