"""A job as people see it: its figures from frontier and store in one, and its state told from what is true now."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from shoal.jobs.place import Place, Standing
from shoal.model import Figures, JobState
from shoal.store.archive.segments import size_of
from shoal.store.columns import iso_time
from shoal.store.figures import Failures, StoredFigures, stored_figures
from shoal.store.jobs import Job, load_job
from shoal.store.tokens import token_name
from shoal.store.webhooks import Told, told_so_far
from shoal.urls.traps import allowing


@dataclass(frozen=True, slots=True)
class Overview:
    job: Job
    state: JobState
    frontier: Figures
    stored: StoredFigures
    archive_bytes: int
    limiting: str | None
    webhook: Told | None = None
    """None: nobody is to be told."""
    owner: str | None = None
    """The name of the token that it belongs to, the id of one that was removed; None: it belongs to none."""

    @property
    def failures(self) -> list[Failures]:
        return self.stored.failures

    def as_dict(self) -> dict[str, Any]:
        """The job figures of the interface, in its order."""
        job, frontier, stored = self.job, self.frontier, self.stored
        return {
            "id": job.id,
            "name": job.spec.name,
            "state": self.state.value,
            "lane": job.spec.lane.value,
            "created_at": iso_time(job.created_at),
            "started_at": iso_time(job.started_at) if job.started_at else None,
            "finished_at": iso_time(job.finished_at) if job.finished_at else None,
            "found": frontier.found,
            "queued": frontier.queued,
            "leased": frontier.leased,
            "pages": frontier.pages,
            "redirects": frontier.redirects,
            "dead": frontier.dead,
            "dropped": dict(frontier.dropped),
            "skipped": stored.skipped,
            "items": stored.items,
            "bytes": stored.bytes,
            "by_status": stored.by_status,
            "hosts": stored.hosts,
            "archive_bytes": self.archive_bytes,
            "unarchived": stored.unarchived,
            "limiting": self.limiting,
            "traps": [{**asdict(trap), "allow": allowing(trap.rule)} for trap in stored.traps],
            "overrides": job.spec.overrides,
            "user_agent": job.spec.user_agent,
            "version": job.version,
            "webhook": asdict(self.webhook) if self.webhook else None,
            "owner": self.owner,
        }


async def overview(place: Place, job_id: str) -> Overview:
    return with_stored(place, await place.standing(load_job(place.store, job_id)))


def with_stored(place: Place, stands: Standing) -> Overview:
    store, job = place.store, stands.job
    stored, archive_bytes = stored_figures(store, job.id), size_of(store, place.archive, job.id)
    told = told_so_far(store, job.id) if job.spec.webhook else None
    owner = None if job.owner is None else token_name(store, job.owner) or job.owner
    return Overview(job, stands.state, stands.figures, stored, archive_bytes, stands.limiting, told, owner)
