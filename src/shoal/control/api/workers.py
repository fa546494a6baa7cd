"""Who is at work, and the fleet at a glance."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from flask import current_app

from shoal.control.bridge import bridge
from shoal.control.models.fleet import Stats, WorkerList
from shoal.control.routes import READ, Reply, Routes
from shoal.fleet.glance import Glances
from shoal.fleet.roster import entries
from shoal.model import JobState, Lane
from shoal.store.jobs import count_jobs

routes = Routes("workers")
_GLANCES = "shoal-glances"


@routes.get("/workers", READ, answers={200: WorkerList})
def workers() -> Reply:
    """List the processes of the fleet, as each last told of itself."""
    return {"workers": [asdict(entry) for entry in bridge().run(entries(bridge().connection))]}


@routes.get("/stats", READ, answers={200: Stats})
def stats() -> Reply:
    """The fleet at a glance: jobs by state, lanes, throughput."""
    over = bridge()
    counts = count_jobs(over.store)
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
