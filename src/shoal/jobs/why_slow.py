"""Says in one sentence what holds a running job back, with figures, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.jobs.deployment import JobStatus
from shoal.model import JobState, Render
from shoal.wording import plural

if TYPE_CHECKING:
    from shoal.store.results.time_series import Point

POINTS = 2
"""The rate and the latency are those of the last minute or two."""
_RATE, _RESPONSES = "the rate limit of ", "responses of "
NEAR = 0.7
"""A job that fetches this share of what a limit allows is held back by that limit."""


def why_slow(status: JobStatus, series: Sequence[Point]) -> str | None:
    """None if nothing holds the job back."""
    if status.state not in (JobState.RUNNING, JobState.WAITING) or not status.limiting:
        return None
    hosts, polite, recent = status.ready_hosts, status.job.spec.politeness, series[-POINTS:]
    # Where hosts have limits of their own, there is no one figure for all.
    if status.state is JobState.RUNNING and hosts and not polite.hosts:
        if status.limiting.startswith(_RATE) and polite.rate:
            return _by_rate(status, hosts, polite.rate, recent)
        if status.limiting.startswith(_RESPONSES) and recent and recent[-1].p50_ms:
            return _by_latency(hosts, polite.per_host, recent[-1].p50_ms / 1000)
    return status.limiting


def _by_rate(status: JobStatus, hosts: int, rate: float, recent: Sequence[Point]) -> str:
    most = hosts * rate
    limit = f"{plural(hosts, 'host')} x {rate:g}/s = {most:g}/s is the limit of the rate"
    pages_per_s = sum(point.pages for point in recent) / max(1, sum(point.seconds for point in recent))
    if len(recent) == POINTS and pages_per_s < NEAR * most:
        host = (status.limiting or "").removeprefix(_RATE).partition(";")[0]
        why = "its answers are late or fail"
        if status.job.spec.render is not Render.NEVER:
            why = "a rendered page sends more than one request, or its answers are late or fail"
        return f"{limit}, but only {pages_per_s:.2g}/s arrive: {host} is slower, because {why}"
    return f"{limit}; more hosts at a time would help, or a higher rate where the site allows it"


def _by_latency(hosts: int, per_host: int, latency_s: float) -> str:
    most = hosts * per_host / latency_s
    return (
        f"answers take {latency_s:.2f} s, and each of {plural(hosts, 'host')} is asked {per_host} at a time: "
        f"{most:.1f}/s at most; a higher per_host would help"
    )
