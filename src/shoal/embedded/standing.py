"""How a job stands right now, cheap enough to be asked for twice a second: nothing is counted in the store."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.embedded.home import Home
from shoal.embedded.overview import current_state
from shoal.model import Figures, JobState
from shoal.store.jobs import Job


@dataclass(frozen=True, slots=True)
class Standing:
    job: Job
    state: JobState
    figures: Figures


async def standing(home: Home, job: Job) -> Standing:
    state = await current_state(home, job)
    if state is JobState.INTERRUPTED and worker_of(home, job.id) is not None:
        # A run that ends is first written down as interrupted, a moment later as what it ended in.
        state = JobState.RUNNING
    figures = await home.frontier.figures(job.id) if job.started_at else Figures()
    return Standing(job, state, figures)


def worker_of(home: Home, job_id: str) -> object | None:
    """The process that works on this job."""
    holder = home.holder()
    return holder["pid"] if holder is not None and holder["job"] == job_id else None
