"""A job's figures in words: what `watch` ends with and `job` shows."""

from __future__ import annotations

from shoal.cli.session import safe
from shoal.cli.words import count, duration, plural, size
from shoal.embedded.overview import Overview
from shoal.model import Figures


def summary_line(overview: Overview) -> str:
    figures, job = overview.frontier, overview.job
    rate = figures.pages / job.seconds if job.seconds else 0.0
    return (
        f"{safe(job.spec.name)}: {overview.state}, {plural(figures.pages, 'page')} "
        f"of {plural(overview.stored.hosts, 'host')} in {duration(job.seconds)} "
        f"({rate:.1f} p/s, {size(overview.stored.bytes)})"
    )


def statuses(overview: Overview) -> str:
    return ", ".join(f"{count(n)} x {status}" for status, n in overview.stored.by_status.items())


def other_endings(figures: Figures) -> str:
    """What became of the requests that are no pages."""
    parts = [plural(figures.redirects, "redirect")] * bool(figures.redirects)
    parts += [plural(figures.dead, "dead letter")] * bool(figures.dead)
    parts += [f"{count(n)} dropped by {reason}" for reason, n in figures.dropped.items()]
    return ", ".join(parts)


def pending(figures: Figures) -> str:
    parts = [f"{count(figures.queued)} queued"] * bool(figures.queued)
    parts += [f"{count(figures.leased)} in flight"] * bool(figures.leased)
    return ", ".join(parts)


def skipped(overview: Overview) -> str:
    return ", ".join(f"{count(n)} {reason}" for reason, n in overview.stored.skipped.items())
