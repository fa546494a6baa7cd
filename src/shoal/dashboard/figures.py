"""What the pages show of a job: its row in the list, and its progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from shoal.dashboard import formats
from shoal.dashboard.charts import sparkline, status_classes
from shoal.dashboard.source import Source
from shoal.jobs.deployment import JobStatus
from shoal.jobs.failure_hints import failure_name, hint
from shoal.jobs.job_overview import Overview
from shoal.jobs.job_series import job_series
from shoal.model import ENDED, Figures, JobState
from shoal.store.jobs import Job
from shoal.store.results.job_figures import Failures
from shoal.store.results.time_series import Point

MARKS = {
    JobState.QUEUED: "○",
    JobState.RUNNING: "●",
    JobState.WAITING: "◐",
    JobState.PAUSED: "‖",
    JobState.DONE: "✓",
    JobState.LIMITED: "◧",
    JobState.CANCELLED: "✕",
    JobState.FAILED: "✖",
    JobState.INTERRUPTED: "⚠",
}
RECENT_S = 150
"""The rate of a running job is that of the last two minutes or so."""
_REMEMBERED = 2_000


@dataclass(frozen=True, slots=True)
class JobRow:
    job: Job
    status: JobStatus
    progress: Progress
    items: int
    errors: str
    spark: Markup

    @property
    def mark(self) -> str:
        return MARKS[self.status.state]


@dataclass(frozen=True, slots=True)
class Progress:
    pages: int
    total: int
    is_growing: bool
    rate: float
    eta_s: float | None

    @property
    def share(self) -> float:
        return self.pages / self.total if self.total else 0.0


class SeriesCache:
    """Remembers the series of ended jobs, which never change."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ended: dict[str, tuple[float, list[Point]]] = {}

    def of(self, job: Job) -> list[Point]:
        if job.finished_at is None or job.state not in ENDED:
            return job_series(self._source.store, job)
        known = self._ended.get(job.id)
        if known is None or known[0] != job.finished_at:
            if len(self._ended) >= _REMEMBERED:
                self._ended.clear()
            known = self._ended[job.id] = job.finished_at, job_series(self._source.store, job)
        return known[1]


def job_row(source: Source, series: SeriesCache, job: Job) -> JobRow:
    status, points = source.status(job), series.of(job)
    return JobRow(
        job,
        status,
        progress(status, points),
        sum(point.items for point in points),
        error_share(points, status.figures),
        sparkline([point.pages_per_s for point in points]),
    )


def progress(status: JobStatus, points: Sequence[Point]) -> Progress:
    figures, limit = status.figures, status.job.spec.limits.pages
    ended = figures.redirects + figures.dead + sum(figures.dropped.values())
    total = figures.found - ended
    if limit is not None:
        total = min(total, limit)
    rate = recent_rate(points, status.job.started_at or 0.0) if status.state is JobState.RUNNING else 0.0
    left = total - figures.pages
    is_growing = status.state not in ENDED and limit is None and figures.queued > 0
    return Progress(
        figures.pages, max(total, figures.pages), is_growing, rate, left / rate if rate and left > 0 else None
    )


def recent_rate(points: Sequence[Point], started_at: float) -> float:
    recent = [point for point in points if point.at + point.seconds > time.time() - RECENT_S]
    if not recent:
        return 0.0
    # A job may have started in the middle of its first minute.
    seconds = recent[-1].at + recent[-1].seconds - max(recent[0].at, started_at)
    return sum(point.pages for point in recent) / max(1.0, seconds)


def error_share(points: Sequence[Point], figures: Figures) -> str:
    """The share of answers and attempts that went wrong, with the most frequent class."""
    counts = {"4xx": 0, "5xx": 0}
    for point in points:
        for name, n in status_classes(point.by_status).items():
            if name in counts:
                counts[name] += n
    counts["dead"] = figures.dead
    wrong, fetched = sum(counts.values()), sum(point.pages for point in points) + figures.dead
    if not wrong or not fetched:
        return "0 %"
    top = max(counts, key=lambda name: counts[name])
    return f"{100 * wrong / fetched:.1f} % ({top})"


def failed_attempts(seen: Overview) -> list[tuple[str, Failures, str | None]]:
    """Each kind of failure with its name and what to do about it."""
    retry, limit = f"shoal dead {seen.job.id} --retry", formats.size(seen.job.spec.max_page_bytes)
    return [
        (failure_name(group.kind, group.status), group, hint(group.kind, group.status, retry, limit))
        for group in seen.failures
    ]


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
    rate = sum(row.progress.rate for row in at_work)
    why = f" {waiting.job.spec.name} waits: {waiting.status.limiting}." if waiting else ""
    return f"{words}; {rate:.1f} pages a second.{why}{fleet}"
