"""How a job went over time, up to now or to its end."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from shoal.store.jobs import Job
from shoal.store.results.columns import iso_time
from shoal.store.results.time_series import Point, read_series
from shoal.store.store import Store


def job_series(store: Store, job: Job) -> list[Point]:
    """The first point begins with the job: the rate of its first minute is not that of a whole one."""
    points = read_series(store, job.id, job.finished_at or time.time())
    late_s = int((job.started_at or 0.0) - points[0].at) if points else 0
    if 0 < late_s < points[0].seconds:
        points[0] = replace(points[0], at=points[0].at + late_s, seconds=points[0].seconds - late_s)
    return points


def point_record(point: Point) -> dict[str, Any]:
    return {
        "at": iso_time(point.at),
        "seconds": point.seconds,
        "pages": point.pages,
        "by_status": point.by_status or {},
        "bytes": point.bytes,
        "items": point.items,
        "p50_ms": point.p50_ms,
        "p95_ms": point.p95_ms,
        "queue": point.queue,
    }
