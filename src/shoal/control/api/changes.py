"""Changes to a job while it runs."""

from __future__ import annotations

from functools import partial

from shoal.control.auth import require_for, require_to_feed
from shoal.control.bridge import bridge
from shoal.control.models.changes import Changed, ChangeQuery, JobChange
from shoal.control.problems import conflict, has_ended
from shoal.control.routes import SUBMIT, Reply, Routes
from shoal.fleet.changes import Preview, change_job, preview
from shoal.fleet.place import Fleet
from shoal.model import ENDED, JobSpec, JobState
from shoal.store.jobs import Job

routes = Routes("changes")


@routes.patch("/jobs/<id>", SUBMIT, answers={200: Changed}, body=JobChange, query=ChangeQuery)
def change_running(job: Job, body: JobChange, query: ChangeQuery) -> Reply:
    """Change limits, rate, scope, patterns, lane or priority of a job while it runs.

    Workers follow with their next lease: what is queued and does not belong any more is dropped, and a wider scope
    counts for links that are found from now on. Only what is given changes, so that two who change different things
    at once both get what they want; who must not overwrite another's change gives the `version` it has seen. With
    `preview` nothing is changed, and the answer tells how many queued URLs would be dropped. Of a job that was given
    what needs an admin, scope, patterns and higher limits are changed by an admin only. A job that a limit ended
    goes on if it is given a higher one.
    """
    if job.state in ENDED and not _reopens(body, job):
        raise has_ended("change", job)
    given = body.model_dump(exclude_unset=True)
    require_for({**given, **given.get("politeness", {})}, None)
    if query.preview:
        return _previewed(job, _applied(body, job.spec))
    changed = bridge().run_apart(lambda fleet: change_job(fleet, job.id, partial(_applied, body), query.version))
    if changed is None:
        raise conflict(f"job {job.id} is not of version {query.version} any more: look at it again, and repeat")
    return {"id": job.id, "version": changed.version}


def _reopens(body: JobChange, found: Job) -> bool:
    more = body.applied(found.spec).limits.allow_more_than(found.spec.limits)
    return found.state is JobState.LIMITED and more


def _applied(body: JobChange, spec: JobSpec) -> JobSpec:
    """Raises a Problem if it may lead the job to more URLs than whoever asks may give it."""
    changed = body.applied(spec)
    if body.model_fields_set & {"scope", "include", "exclude"} or changed.limits.allow_more_than(spec.limits):
        require_to_feed(spec)
    return changed


def _previewed(found: Job, spec: JobSpec) -> Reply:
    async def look(fleet: Fleet) -> Preview:
        return await preview(fleet, found, spec)

    seen = bridge().run_apart(look)
    return {
        "id": found.id,
        "version": found.version,
        "queued": seen.queued,
        "would_drop": seen.estimate,
        "is_estimate": seen.looked_at < seen.queued,
    }
