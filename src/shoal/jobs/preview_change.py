"""Says what a change of a job's options would drop from its queue, before the change is made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from shoal.engine.job_start import scope_of
from shoal.engine.unfetched_requests import unwanted
from shoal.errors import FrontierLost
from shoal.jobs.deployment import Deployment
from shoal.model import JobSpec
from shoal.store.jobs import Job

MOST_LOOKED_AT = 50_000


@dataclass(frozen=True, slots=True)
class Preview:
    queued: int
    looked_at: int
    dropped: int
    """Out of those looked at."""

    @property
    def estimate(self) -> int:
        return round(self.dropped * self.queued / self.looked_at) if self.looked_at else 0

    def as_text(self) -> str:
        about = "about " if self.looked_at < self.queued else ""
        return f"The change would drop {about}{self.estimate:,} of {self.queued:,} queued URLs."


async def preview_change(place: Deployment, job: Job, spec: JobSpec) -> Preview:
    """Counts queued requests that the job would drop with this spec, in a sample of at most MOST_LOOKED_AT. Raises
    UsageError for an invalid pattern."""
    scope = await asyncio.to_thread(scope_of, place.store, job, spec)
    looked_at = dropped = 0
    try:
        queued = (await place.frontier.figures(job.id)).queued
        async for target, trail in place.frontier.queued(job.id, MOST_LOOKED_AT):
            looked_at += 1
            dropped += unwanted(scope, target, trail) is not None
    except FrontierLost:
        return Preview(0, 0, 0)
    # The two are read at different times while the job runs.
    return Preview(max(queued, looked_at), looked_at, dropped)
