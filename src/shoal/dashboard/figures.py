"""What the pages show of a job: its progress and its errors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from shoal.dashboard import formats
from shoal.dashboard.charts import sparkline, status_classes
from shoal.jobs.deployment import JobStatus
from shoal.jobs.failure_hints import failure_name, hint
from shoal.jobs.job_overview import Overview
from shoal.model import ENDED, Figures, JobState
from shoal.store.failure_trend import FailureTrend
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
TREND_PARTS = 24


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


def progress(status: JobStatus, points: Sequence[Point]) -> Progress:
    figures, limit = status.figures, status.job.spec.limits.pages
    total = figures.found - figures.ended + figures.pages
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


class FailedAttempts(NamedTuple):
    name: str
    group: Failures
    hint: str | None
    """What to do."""
    trend: Markup


def failed_attempts(seen: Overview, most: int, shoal: str = "shoal") -> list[FailedAttempts]:
    """The largest groups; `shoal` is the beginning of the commands."""
    return [
        FailedAttempts(
            failure_name(group.kind, group.status),
            group,
            failure_hint(seen.job, group.kind, group.status, shoal),
            failure_sparkline(seen.job, group.trend),
        )
        for group in seen.failures[:most]
    ]


def failure_sparkline(job: Job, trend: FailureTrend | None) -> Markup:
    """Over the time of the job; empty if the times are unknown."""
    if trend is None:
        return Markup("")
    return sparkline(trend.spread(*job.time_span(time.time()), TREND_PARTS), "failures over the time of the job")


def failure_hint(job: Job, kind: str, status: int | None, shoal: str) -> str | None:
    return hint(kind, status, f"{shoal} dead {job.id} --retry", formats.size(job.spec.max_page_bytes))
