"""Finds out from the roster why no worker works on a job, so that no job waits without a reason shown."""

from __future__ import annotations

from shoal.fleet.roster import RosterEntry, serving
from shoal.model import Figures
from shoal.store.jobs import Job
from shoal.wording import plural


def find_blocker(job: Job, figures: Figures, roster: list[RosterEntry]) -> str | None:
    """The reason and what to do about it; None if a worker can work on the job."""
    workers = serving(roster, job.spec.lane)
    if not workers:
        up = any(entry.lanes for entry in roster)
        return f"no worker {'serves its lane' if up else 'is running'}: shoal worker --lanes {job.spec.lane}"
    if figures.queued and figures.for_browsers >= figures.queued and not figures.leased:
        if not any(entry.browser_pages for entry in workers):
            return _no_browser(workers, "its pages need one")
        workers = [entry for entry in workers if entry.browser_pages]
    faults = [entry.unloadable[job.id] for entry in workers if job.id in entry.unloadable]
    if len(faults) == len(workers):
        return f"no worker can load it: {faults[0]}"
    waiting = [entry.waiting_for for entry in workers if entry.waiting_for]
    if len(waiting) == len(workers):
        return f"every worker is waiting: {waiting[0]}"
    # Only if nothing is in flight: workers continue for a while without tend.
    return None if figures.leased else _untended(roster, workers)


def missing_browser(job: Job, figures: Figures, roster: list[RosterEntry]) -> str | None:
    """Why some of its requests wait while others go on."""
    workers, n = serving(roster, job.spec.lane), figures.for_browsers
    if not n or any(entry.browser_pages for entry in workers):
        return None
    return _no_browser(workers, f"{plural(n, 'request')} need{'s' * (n == 1)} one")


def slow_reading(job: Job, roster: list[RosterEntry]) -> str | None:
    """The job's page that takes long to parse: the job runs, but waits for this page."""
    return next((entry.reading[job.id] for entry in roster if job.id in entry.reading), None)


def partly_unloadable(job: Job, roster: list[RosterEntry]) -> str | None:
    """Why some workers cannot load the job: others have not tried yet, or work on it alone."""
    workers = serving(roster, job.spec.lane)
    faults = [entry.unloadable[job.id] for entry in workers if job.id in entry.unloadable]
    return f"{len(faults)} of {plural(len(workers), 'worker')} cannot load it: {faults[0]}" if faults else None


def archive_note(roster: list[RosterEntry]) -> str | None:
    """Why segments wait in spools: jobs run, until the spools are full."""
    return next((entry.archive_note for entry in roster if entry.archive_note), None)


def _no_browser(workers: list[RosterEntry], need: str) -> str:
    fault = next((entry.browser_fault for entry in workers if entry.browser_fault), None)
    if fault is not None:
        return f"no worker's browser starts, and {need}: {fault}"
    return f"no worker has a browser, and {need}: shoal worker --browsers 1"


def _untended(roster: list[RosterEntry], workers: list[RosterEntry]) -> str | None:
    tends = [entry for entry in roster if entry.role == "tend"]
    if not tends:
        return "the fleet has no tend process. Start one: shoal tend"
    if any(entry.lane for entry in workers):
        return None
    return next((f"tend is waiting: {entry.waiting_for}" for entry in tends if entry.waiting_for), None)
