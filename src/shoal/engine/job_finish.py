"""Finishes a job: decides its final state and reason from its counts, its limits and the quality of its items."""

from __future__ import annotations

import asyncio
import time

from shoal.frontier.contract import Frontier
from shoal.model import MOST_NOFOLLOW_PAGES, Figures, JobSpec, JobState, reached
from shoal.store.job_state import end_if_seeded, set_state
from shoal.store.jobs import Job
from shoal.store.results.job_figures import has_callback_failures
from shoal.store.store import Store

SPIDER_FAILED = "the spider failed on every page that was fetched"


async def finish(frontier: Frontier, store: Store, job: Job, idle_reason: str) -> JobState:
    """`idle_reason` is the frontier's. A job to which URLs were appended meanwhile goes on."""
    figures = await frontier.figures(job.id)
    state, reason = final_state(idle_reason, job.spec, figures)
    if state is JobState.FAILED and not figures.pages and await asyncio.to_thread(has_callback_failures, store, job.id):
        reason = SPIDER_FAILED
    if state in (JobState.DONE, JobState.LIMITED):
        # In a thread: millions of items take a while, and the event loop has other jobs to serve.
        poor = await asyncio.to_thread(_judge_quality, store, job)
        state, reason = (JobState.FAILED, poor) if poor else (state, reason)
    if state is JobState.LIMITED and idle_reason == "seconds" and (waited_for := await frontier.wait_reason(job.id)):
        # More time might not have helped: a host may block for a day.
        reason = f"{reason}; the remaining requests wait: {waited_for}"
    if not job.fleet:
        set_state(store, job.id, state, time.time(), reason)
    elif not await asyncio.to_thread(end_if_seeded, store, job.id, state, time.time(), reason):
        return job.state
    # Dead letters may be retried, and must not lead to pages that the job already has.
    if idle_reason == "empty" and not figures.dead:
        await frontier.forget(job.id)
    elif idle_reason == "cancelled":
        await frontier.cancel(job.id)
    return state


def final_state(idle_reason: str, spec: JobSpec, figures: Figures) -> tuple[JobState, str | None]:
    pages, dead = figures.pages, figures.dead
    tried = pages + figures.assets + dead
    if idle_reason == "cancelled":
        return JobState.CANCELLED, None
    if pages == 0 and idle_reason == "empty":
        # The user of the API does not see the worker's log, so the reason must say it.
        private = figures.dropped.get("address_refused") and spec.private_way_out
        why = f": addresses are private or reserved; {private} allows private ones" if private else ""
        return JobState.FAILED, f"no page could be fetched{why}"
    if spec.max_failure_rate is not None and dead > spec.max_failure_rate * tried:
        return JobState.FAILED, f"{dead / tried:.1%} of requests are dead letters"
    if idle_reason == "empty":
        return JobState.DONE, None
    return JobState.LIMITED, reached(idle_reason) + _why_limited(idle_reason, spec)


def _why_limited(idle_reason: str, spec: JobSpec) -> str:
    """Who gave no limit should learn where it comes from."""
    most = spec.limits.pages_per_host
    if idle_reason != "pages_per_host" or spec.politeness.nofollow or most != MOST_NOFOLLOW_PAGES:
        return ""
    return f": {most:,} with --ignore-nofollow, unless you give another"


def _judge_quality(store: Store, job: Job) -> str | None:
    """Measures the items of a job, and returns what falls short of its quality requirements."""
    if job.spec.spider is None and job.spec.rules is None:
        return None
    # Imported here only: a job without items does not need it.
    from shoal.store.results.quality import last_quality, measure_quality, verdict

    return verdict(job.spec, measure_quality(store, job.id), last_quality(store, job.spec.name, job.id))
