"""The rows of the list of jobs.

Rows of jobs that have ended are kept. If reading a row takes long, it continues in the background; until it is
ready, the list shows only the job's name and state.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TypeVar

from markupsafe import Markup

from shoal.dashboard.charts import sparkline
from shoal.dashboard.figures import MARKS, Progress, error_share, progress
from shoal.dashboard.source import Source
from shoal.jobs.deployment import JobStatus
from shoal.jobs.job_series import job_series
from shoal.jobs.overview_cache import PATIENCE_S
from shoal.model import ENDED, Figures, JobState
from shoal.store.jobs import Job
from shoal.store.results.time_series import Point

T = TypeVar("T")

SERIES_KEPT_S = 20.0
"""Of a job that runs: a sparkline has a point a minute."""
_REMEMBERED = 2_000


@dataclass(frozen=True, slots=True)
class JobRow:
    job: Job
    status: JobStatus
    progress: Progress | None
    """None: it is still being read, like what follows."""
    items: int = 0
    errors: str = ""
    spark: Markup | None = None

    @property
    def mark(self) -> str:
        return MARKS[self.status.state]


class JobRows:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._ended: dict[str, JobRow] = {}
        self._series: dict[str, tuple[float, list[Point]]] = {}
        self._reading: dict[str, Future[JobRow]] = {}
        self._lock = threading.Lock()

    def read(self, jobs: Sequence[Job]) -> list[JobRow]:
        known = {job.id: row for job in jobs if (row := self._remembered(job)) is not None}
        reading = {job.id: self._start(job) for job in jobs if job.id not in known}
        wait(reading.values(), PATIENCE_S)
        known |= {id: future.result() for id, future in reading.items() if future.done()}
        return [known.get(job.id) or JobRow(job, JobStatus(job, job.state, Figures(), None), None) for job in jobs]

    def _remembered(self, job: Job) -> JobRow | None:
        row = self._ended.get(job.id)
        is_current = row is not None and row.job.finished_at == job.finished_at and job.state in ENDED
        return replace(row, job=job) if row is not None and is_current else None

    def _start(self, job: Job) -> Future[JobRow]:
        with self._lock:
            if (running := self._reading.get(job.id)) is not None:
                return running
            started = self._reading[job.id] = self._source.background.submit(self._read, job)
        started.add_done_callback(lambda _: self._reading.pop(job.id, None))
        return started

    def _read(self, job: Job) -> JobRow:
        status, points = self._source.status(job), self._series_of(job)
        items, errors = sum(point.items for point in points), error_share(points, status.figures)
        spark = sparkline([point.pages_per_s for point in points])
        row = JobRow(job, status, progress(status, points), items, errors, spark)
        if job.state in ENDED and job.finished_at is not None:
            _bound(self._ended)[job.id] = row
        return row

    def _series_of(self, job: Job) -> list[Point]:
        until, points = self._series.get(job.id, (0.0, []))
        if job.state in ENDED or time.monotonic() > until:
            points = job_series(self._source.store, job)
            _bound(self._series)[job.id] = time.monotonic() + SERIES_KEPT_S, points
        return points


def _bound(known: dict[str, T]) -> dict[str, T]:
    if len(known) >= _REMEMBERED:
        known.clear()
    return known


def health(rows: Sequence[JobRow], workers: str | None) -> str:
    """One sentence about all jobs that have not ended, and about the fleet's workers."""
    at_work = [row for row in rows if row.status.state not in ENDED]
    fleet = f" Fleet: {workers}." if workers else ""
    if not at_work:
        return f"No job is running.{fleet}"
    counts: dict[str, int] = {}
    for row in at_work:
        counts[row.status.state.value] = counts.get(row.status.state.value, 0) + 1
    words = ", ".join(f"{n:,} {state}" for state, n in counts.items())
    waiting = next((row for row in at_work if row.status.state is JobState.WAITING and row.status.limiting), None)
    rate = sum(row.progress.rate for row in at_work if row.progress is not None)
    why = f" {waiting.job.spec.name} waits: {waiting.status.limiting}." if waiting else ""
    return f"{words}; {rate:.1f} pages a second.{why}{fleet}"
