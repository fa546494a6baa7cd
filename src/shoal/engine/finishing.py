"""How a job ends: in which state and why, by what it rests for and how good its items are."""

from __future__ import annotations

import asyncio
import time

from shoal.frontier.contract import Frontier
from shoal.model import Figures, JobSpec, JobState, reached
from shoal.store.figures import failed_in_callbacks
from shoal.store.jobs import Job, end_if_seeded, set_state
from shoal.store.quality import last_quality, measure_quality, verdict
from shoal.store.store import Store

SPIDER_FAILED = "the spider failed on every page that was fetched"


async def finish(frontier: Frontier, store: Store, job: Job, rest: str) -> JobState:
    """`rest` is why the frontier has nothing more to lease of the job; one that URLs were appended to goes on."""
    figures = await frontier.figures(job.id)
    state, reason = ended(rest, job.spec, figures)
    if state is JobState.FAILED and not figures.pages and await asyncio.to_thread(failed_in_callbacks, store, job.id):
        reason = SPIDER_FAILED
    if state in (JobState.DONE, JobState.LIMITED):
        # Millions of items take a while, and whoever ends a job has others to see to.
        poor = await asyncio.to_thread(_judge_quality, store, job)
        state, reason = (JobState.FAILED, poor) if poor else (state, reason)
    if state is JobState.LIMITED and rest == "seconds" and (waited_for := await frontier.limiting(job.id)):
        # With more time it might have got no further: a host may block for a day.
        reason = f"{reason}; what was left waits: {waited_for}"
    if not job.fleet:
        set_state(store, job.id, state, time.time(), reason)
    elif not await asyncio.to_thread(end_if_seeded, store, job.id, state, time.time(), reason):
        return job.state
    # Dead letters may be tried again, and must not lead to what the job has already.
    if rest == "empty" and not figures.dead:
        await frontier.forget(job.id)
    elif rest == "cancelled":
        await frontier.cancel(job.id)
    return state


def ended(rest: str, spec: JobSpec, figures: Figures) -> tuple[JobState, str | None]:
    pages, dead = figures.pages, figures.dead
    if rest == "cancelled":
        return JobState.CANCELLED, None
    if pages == 0 and rest == "empty":
        # Of a job of the API nobody else would say so: its maker sees no worker.
        private = figures.dropped.get("address_refused") and spec.private_way_out
        why = f": addresses are private or reserved; {private} lets private ones be reached" if private else ""
        return JobState.FAILED, f"no page could be fetched{why}"
    if spec.max_failure_rate is not None and dead > spec.max_failure_rate * (pages + dead):
        return JobState.FAILED, f"{dead / (pages + dead):.1%} of requests are dead letters"
    if rest == "empty":
        return JobState.DONE, None
    return JobState.LIMITED, reached(rest)


def _judge_quality(store: Store, job: Job) -> str | None:
    """Measures the items of a job, and says what about them is not as was asked."""
    if job.spec.spider is None and job.spec.rules is None:
        return None
    return verdict(job.spec, measure_quality(store, job.id), last_quality(store, job.spec.name, job.id))
