"""Describes the failures of a job to people, in groups."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from shoal.cli.humanize import plural, size, sparkline
from shoal.cli.session import Session
from shoal.cli.terminal_text import folded, safe
from shoal.jobs.failure_hints import failure_name, hint
from shoal.store.results.columns import iso_time

if TYPE_CHECKING:
    from shoal.jobs.job_overview import Overview
    from shoal.store.failure_trend import FailureTrend
    from shoal.store.results.job_figures import Failures

TREND_PARTS = 12
TREND_LEAST_S = 120
DAY_S = 86_400


def page_limit(max_page_bytes: int) -> str:
    return size(max_page_bytes).replace(".0 ", " ")


def failure_lines(session: Session, seen: Overview, most: int, further: str) -> list[str]:
    """Failures under a heading, at most `most` groups; `further` is the command that shows the others."""
    if not seen.failures:
        return []
    retry, more = session.command("dead", seen.job.id, "--retry"), session.command(further, seen.job.id)
    limit = seen.job.spec.max_page_bytes
    span = seen.job.time_span(time.time())
    lines = group_lines(seen.failures, retry, more, limit, get_terminal_size().columns, most, span)
    answered = bool(seen.stored.pages or seen.stored.redirects)
    return ["errors:", *lines, *offline_lines(seen.failures, answered)]


def failure_records(failures: list[Failures]) -> list[dict[str, Any]]:
    """For JSON: all groups, the largest first."""
    return [asdict(group) | _times(group) for group in failures]


def _times(group: Failures) -> dict[str, Any]:
    times = {name: _iso(getattr(group, name)) for name in ("first_at", "last_at")}
    return times | {"trend": None if group.trend is None else group.trend.record}


def _iso(at: float | None) -> str | None:
    return None if at is None else iso_time(at)


def group_lines(
    failures: list[Failures],
    retry: str,
    further: str,
    max_page_bytes: int,
    width: int,
    most: int,
    span: tuple[float, float],
) -> list[str]:
    """Each group of failed attempts with a count, a trend over the job's time span, a sample and what to do."""
    lines, said = [], set[str]()
    for group in failures[:most]:
        name = failure_name(group.kind, group.status)
        where = f"{safe(group.host)}{trend_words(group.trend, group.last_at, span)}"
        lines += folded(f"{name} x{group.n} at {where}, e.g. {safe(group.sample or '')}", width, "  ")
        # Once: twenty hosts without a name are one problem.
        if (advice := hint(group.kind, group.status, retry, page_limit(max_page_bytes))) and advice not in said:
            said.add(advice)
            # Not folded: some contain a command to copy.
            lines.append(f"    {advice}")
    if len(failures) > most:
        lines.append(f"  and {plural(len(failures) - most, 'more group')}: {further}")
    return lines


def trend_words(trend: FailureTrend | None, last_at: float | None, span: tuple[float, float]) -> str:
    """How failures spread over the time span of their job, and when the last was; empty for a job of a few seconds."""
    since, until = span
    if trend is None or last_at is None or until - since < TREND_LEAST_S:
        return ""
    last = datetime.fromtimestamp(last_at).astimezone()
    bars = sparkline(trend.spread(since, until, TREND_PARTS))
    return f" {bars} last {last:{'%H:%M:%S' if until - since < DAY_S else '%Y-%m-%d %H:%M'}}"


def offline_lines(failures: list[Failures], answered: bool) -> list[str]:
    """If the names of several hosts do not resolve, and no host has answered."""
    if answered or len(failures) < 2 or any(group.kind != "dns" for group in failures):
        return []
    return ["  no name resolves: is this machine online?"]
