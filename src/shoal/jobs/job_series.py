"""How a job went over time, up to now or to its end."""

from __future__ import annotations

import time
from typing import Any

from shoal.store.jobs import Job
from shoal.store.results.columns import iso_time
from shoal.store.results.time_series import Point, read_series
from shoal.store.store import Store


def job_series(store: Store, job: Job) -> list[Point]:
    return read_series(store, job.id, job.finished_at or time.time())


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
