"""A job's figures in words: what `watch` ends with and `job` shows."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.cli.terminal import safe, shortened
from shoal.cli.words import count, duration, plural, size
from shoal.jobs.overview import Overview
from shoal.model import Figures
from shoal.urls.traps import RULES, allowing


def summary_line(seen: Overview) -> str:
    job = seen.job
    said = f"{safe(job.spec.name)}: {seen.state}, {extent(seen)}"
    if not job.seconds:
        # Time is written down when a run ends; of one that was killed nobody knows it.
        return f"{said} ({size(seen.stored.bytes)})"
    rate = seen.frontier.pages / job.seconds
    return f"{said} in {duration(job.seconds)} ({rate:.1f} p/s, {size(seen.stored.bytes)})"


def extent(seen: Overview) -> str:
    return f"{plural(seen.frontier.pages, 'page')} of {plural(seen.stored.hosts, 'host')}"


def extracted(seen: Overview) -> str:
    """Items, and what was found but not taken."""
    parts = [count(seen.stored.items)] if seen.stored.items or seen.stored.rejected else []
    parts += [f"{count(seen.stored.rejected)} rejected"] if seen.stored.rejected else []
    return ", ".join(parts)


def archived(seen: Overview) -> str:
    if not seen.job.spec.archive:
        return "none (--no-archive)"
    parts = [size(seen.archive_bytes), left_out(seen)] if seen.archive_bytes else [left_out(seen)]
    return ", ".join(filter(None, parts))


def left_out(seen: Overview) -> str:
    """What the archive lacks because of its limit."""
    n, limit = seen.stored.unarchived, seen.job.spec.max_archive_bytes
    return f"full at {size(limit)}: {plural(n, 'answer')} left out" if n and limit is not None else ""


def told(seen: Overview) -> str:
    """What became of what its webhook is told."""
    if seen.webhook is None:
        return ""
    counts = {
        "delivered": seen.webhook.delivered,
        "waiting": seen.webhook.waiting,
        "given up": seen.webhook.given_up,
    }
    fault = f": {safe(seen.webhook.fault)}" if seen.webhook.fault else ""
    return (", ".join(f"{count(n)} {what}" for what, n in counts.items() if n) or "nothing told yet") + fault


def refreshed(seen: Overview) -> str:
    """How the pages of a refresh compare with those of earlier jobs."""
    if not seen.job.spec.refresh:
        return ""
    same, other = seen.stored.unchanged, seen.stored.changed
    if not same and not other:
        return f"nothing to compare with: no earlier job named {safe(seen.job.spec.name)} has these pages"
    counts = {"unchanged": same, "changed": other, "new": seen.stored.pages - same - other}
    return ", ".join(f"{count(n)} {what}" for what, n in counts.items() if n)


def statuses(seen: Overview) -> str:
    return ", ".join(f"{count(n)} x {status}" for status, n in seen.stored.by_status.items())


def other_endings(figures: Figures) -> str:
    """What became of the requests that are no pages."""
    parts = [plural(figures.redirects, "redirect")] if figures.redirects else []
    parts += [plural(figures.dead, "dead letter")] if figures.dead else []
    return ", ".join([*parts, *(f"{count(n)} dropped by {reason}" for reason, n in figures.dropped.items())])


def pending(figures: Figures) -> str:
    parts = {"queued": figures.queued, "in flight": figures.leased}
    return ", ".join(f"{count(n)} {where}" for where, n in parts.items() if n)


def trap_lines(seen: Overview, width: int, samples: int) -> Iterator[str]:
    """By rule: how many links were not followed, a few of them, why, and how to have them followed."""
    if seen.stored.traps:
        yield "traps, not followed:"
    for trap in seen.stored.traps:
        yield f"  {trap.rule}: {plural(trap.links, 'link')} with {RULES[trap.rule]}"
        yield from (f"    {shortened(safe(url), width - 4)}" for url in trap.samples[:samples])
        yield f"    allow with {allowing(trap.rule)}"


def skipped(seen: Overview) -> str:
    return ", ".join(f"{count(n)} {reason}" for reason, n in seen.stored.skipped.items())
