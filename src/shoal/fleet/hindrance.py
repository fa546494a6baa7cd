"""What keeps every worker from a job, told from who is at work: nothing waits in silence."""

from __future__ import annotations

from shoal.fleet.roster import Entry, serving
from shoal.model import Figures
from shoal.store.jobs import Job


def hindrance(job: Job, figures: Figures, roster: list[Entry]) -> str | None:
    """In words, with what to do about it; None if somebody can work on the job."""
    workers = serving(roster, job.spec.lane)
    if not workers:
        up = any(entry.lanes for entry in roster)
        return f"no worker {'serves its lane' if up else 'is up'}: shoal worker --lanes {job.spec.lane}"
    faults = [entry.unloadable[job.id] for entry in workers if job.id in entry.unloadable]
    if len(faults) == len(workers):
        return f"no worker can load it: {faults[0]}"
    waiting = [entry.waiting_for for entry in workers if entry.waiting_for]
    if len(waiting) == len(workers):
        return f"every worker waits: {waiting[0]}"
    # Only if nothing moves: workers go on for a while without it.
    return None if figures.leased else _untended(roster, workers)


def slow_reading(job: Job, roster: list[Entry]) -> str | None:
    """In words, the page of the job whose reading takes long; the job goes on, and this is what it waits for."""
    return next((entry.reading[job.id] for entry in roster if job.id in entry.reading), None)


def _untended(roster: list[Entry], workers: list[Entry]) -> str | None:
    tends = [entry for entry in roster if entry.role == "tend"]
    if not tends:
        return "nobody tends the fleet: shoal tend"
    if any(entry.lane for entry in workers):
        return None
    return next((f"tend waits: {entry.waiting_for}" for entry in tends if entry.waiting_for), None)
