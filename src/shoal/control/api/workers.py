"""Who is at work, and the fleet at a glance."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from flask import current_app

from shoal.control.bridge import bridge
from shoal.control.models.fleet import Stats, WorkerList
from shoal.control.ownership import owner
from shoal.control.routes import READ, Reply, Routes
from shoal.fleet.glance import Glances
from shoal.fleet.roster import Entry, entries
from shoal.model import JobState, Lane
from shoal.store.jobs import count_jobs, unfinished

routes = Routes("workers")
_GLANCES = "shoal-glances"


@routes.get("/workers", READ, answers={200: WorkerList})
def workers() -> Reply:
    """List the processes of the fleet, as each last told of itself; of jobs, those that the token may see."""
    roster = bridge().run(entries(bridge().connection))
    whose = owner()
    own = None if whose is None else {job.id for job in unfinished(bridge().store, whose)}
    return {"workers": [_shown(entry, own) for entry in roster]}


@routes.get("/stats", READ, answers={200: Stats})
def stats() -> Reply:
    """The fleet at a glance: lanes, throughput, and by state the jobs that the token may see."""
    over = bridge()
    counts = count_jobs(over.store, owner())
    glances: Glances = current_app.extensions.setdefault(_GLANCES, Glances(over.fleet))
    seen = over.run(glances.take())
    serving = Counter(lane for child in seen.at_work for lane in child.entry.lanes)
    return {
        "jobs": {state: counts.by_state.get(state, 0) for state in JobState},
        "lanes": {lane: {"workers": serving[lane], "jobs": counts.unfinished.get(lane, 0)} for lane in Lane},
        "workers": len(seen.at_work),
        "in_flight": sum(child.entry.in_flight for child in seen.at_work),
        "requests_per_second": round(sum(child.per_s for child in seen.at_work), 3),
        "redis_bytes": seen.redis_bytes,
        "redis_fault": seen.redis_fault,
    }


def _shown(entry: Entry, jobs: set[str] | None) -> dict[str, Any]:
    """`jobs`: those that may be named; None: any."""
    named = {job: why for job, why in entry.unloadable.items() if jobs is None or job in jobs}
    return {**asdict(entry), "unloadable": named}
