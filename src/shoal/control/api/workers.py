"""Lists the fleet's processes, and summarizes the fleet: now, and over the last day."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import Any

from shoal.client.responses.fleet import Stats, WorkerList
from shoal.client.responses.jobs import Series
from shoal.control.async_bridge import bridge
from shoal.control.ownership import owner
from shoal.control.routes import READ, Reply, Routes
from shoal.fleet.fleet_status import read_fleet_status
from shoal.fleet.roster import RosterEntry, entries
from shoal.jobs.job_series import point_record
from shoal.model import JobState, Lane
from shoal.store.jobs import count_jobs, unfinished_jobs
from shoal.store.results.fleet_series import fleet_series as read_fleet_series

routes = Routes("workers")


@routes.get("/workers", READ, answers={200: WorkerList})
def workers() -> Reply:
    """List the processes of the fleet with their last report; it names only jobs that the token may see."""
    roster = bridge().run(entries(bridge().connection))
    whose = owner()
    own = None if whose is None else {job.id for job in unfinished_jobs(bridge().store, whose)}
    return {"workers": [_shown(entry, own) for entry in roster]}


@routes.get("/stats", READ, answers={200: Stats})
def stats() -> Reply:
    """A summary of the fleet: lanes, throughput, and the jobs that the token may see, by state."""
    over = bridge()
    counts = count_jobs(over.store, owner())
    seen = over.run(read_fleet_status(over.fleet))
    serving = Counter(lane for child in seen.at_work for lane in child.lanes)
    return {
        "jobs": {state: counts.by_state.get(state, 0) for state in JobState},
        "lanes": {lane: {"workers": serving[lane], "jobs": counts.unfinished.get(lane, 0)} for lane in Lane},
        "workers": len(seen.at_work),
        "in_flight": sum(child.in_flight for child in seen.at_work),
        "requests_per_second": round(sum(child.per_s or 0.0 for child in seen.at_work), 3),
        "redis_bytes": seen.redis_bytes,
        "redis_fault": seen.redis_fault,
    }


@routes.get("/series", READ, answers={200: Series})
def fleet_series() -> Reply:
    """How all jobs that the token may see went over the last day: pages, statuses, items, latency and queue in
    periods of one to ten minutes."""
    return {"points": [point_record(point) for point in read_fleet_series(bridge().store, time.time(), owner())]}


def _shown(entry: RosterEntry, jobs: set[str] | None) -> dict[str, Any]:
    """`jobs`: the jobs that may be named; None: all."""
    named = {job: why for job, why in entry.unloadable.items() if jobs is None or job in jobs}
    return {**asdict(entry), "unloadable": named}
