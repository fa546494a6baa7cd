"""`shoal jobs` and `shoal job`: which jobs there are, and everything about one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from shutil import get_terminal_size

import click

from shoal.cli.failures import failure_lines
from shoal.cli.figures import (
    archived,
    extent,
    extracted,
    other_endings,
    pending,
    refreshed,
    skipped,
    statuses,
    told,
    trap_lines,
)
from shoal.cli.numbers import Whole
from shoal.cli.quality import quality_lines
from shoal.cli.reach import Listed, Record
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe, table
from shoal.cli.terms import higher_limit, terms
from shoal.cli.words import duration, size
from shoal.jobs.overview import Overview
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job
from shoal.urls.traps import SAMPLES

HEADER = ("id", "state", "pages", "queued", "dead", "started", "name")
NUMBERS = frozenset({2, 3, 4})
GROUPS_SHOWN = 100
"""Of failures: a crawl of many hosts has thousands."""


@click.command(cls=Command)
@click.option("--limit", type=Whole(), default=20, show_default=True, metavar="N", help="At most N jobs.")
def jobs(session: Session, limit: int) -> None:
    """List the jobs, newest first.

    \b
    shoal jobs
    shoal jobs --limit 100 --json
    """
    with session.open_jobs() as reached:
        if session.json:
            shown = _print_figures(session, reached.newest_figures(limit))
        else:
            shown = _print_table(session, reached.newest(limit + 1), limit)
    if not shown:
        _say_how_to_start(session)


def _say_how_to_start(session: Session) -> None:
    settings = session.settings
    afar = settings.api_url or settings.redis_url
    where = settings.shown("api_url" if settings.api_url else "redis_url" if afar else "home")
    begin = session.command("submit" if afar else "crawl", "URL")
    session.say(f"there is no job in {where} yet: `{begin}` starts one" + ("" if afar else ", `shoal demo` shows how"))


def _print_figures(session: Session, figures: Iterable[Record]) -> int:
    shown = 0
    for one in figures:
        session.data(one)
        shown += 1
    return shown


def _print_table(session: Session, found: list[Listed], limit: int) -> int:
    if found:
        for line in table(map(_row, found[:limit]), HEADER, get_terminal_size().columns, NUMBERS):
            session.show(line)
    if len(found) > limit:
        session.say(f"older jobs are not shown: {session.command('jobs', f'--limit {limit * 5}')}")
    return len(found)


def _row(job: Listed) -> tuple[str, ...]:
    figures = job.figures
    queued = f"{figures.queued + figures.leased:,}" if figures.pending_known or job.state in ENDED else "?"
    counts = f"{figures.pages:,}", queued, f"{figures.dead:,}"
    return job.id, job.state.value, *counts, _day_or_hour(job.started_at), safe(job.name)


def _day_or_hour(at: float | None) -> str:
    if at is None:
        return "–"
    then = datetime.fromtimestamp(at).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == datetime.now().astimezone().date() else f"{then:%Y-%m-%d}"


@click.command(cls=Command)
@click.argument("job")
def job(session: Session, job: str) -> None:
    """Show JOB (an id, the beginning of one, or "last"): figures, errors, what limits it, what was asked for.

    \b
    shoal job last
    shoal job nfjssz0n --json
    """
    with session.open_jobs() as reached:
        found = reached.find(job)
        seen = found.overview()
        quality = [] if session.json else quality_lines(*found.quality(), get_terminal_size().columns)
    if session.json:
        session.data(seen.as_dict())
        return
    for line in [*_lines(session, seen), *quality, *_way_on(session, seen)]:
        session.show(line)


def _lines(session: Session, seen: Overview) -> list[str]:
    said = {**_figures(seen), **terms(seen.job.spec)}
    lines = [f"job {seen.job.id}: {safe(seen.job.spec.name)}, {seen.state}"]
    lines += [f"  {heading:<10}  {text}" for heading, text in said.items() if text]
    lines += trap_lines(seen, get_terminal_size().columns, SAMPLES)
    return lines + failure_lines(session, seen, GROUPS_SHOWN, further="dead")


def _figures(seen: Overview) -> dict[str, str]:
    return {
        "owner": safe(seen.owner or ""),
        "started": _times(seen.job),
        "pages": f"{extent(seen)}, {size(seen.stored.bytes)}",
        "status": statuses(seen),
        "refresh": refreshed(seen),
        "items": extracted(seen),
        "also": other_endings(seen.frontier),
        "pending": pending(seen.frontier),
        "skipped": skipped(seen),
        "archive": archived(seen),
        "webhook": told(seen),
        "waits for" if seen.state in (JobState.RUNNING, JobState.WAITING) else "because": safe(seen.limiting or ""),
    }


def _times(job: Job) -> str:
    if job.started_at is None:
        return "never"
    ended = f", ended {_clock(job.finished_at)}" if job.finished_at else ""
    worked = f", worked on for {duration(job.seconds)}" if job.seconds else ""
    return f"{_clock(job.started_at)}{ended}{worked}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M:%S}"


def _way_on(session: Session, seen: Overview) -> list[str]:
    ways = {
        JobState.RUNNING: ("follow it", "watch"),
        JobState.WAITING: ("follow it", "watch"),
        JobState.PAUSED: ("go on", "resume"),
        JobState.INTERRUPTED: ("resume", "resume"),
    }
    if seen.state is JobState.LIMITED:
        return [f"go on: {session.command('resume', seen.job.id, higher_limit(seen.job))}"]
    if seen.state not in ways:
        return []
    if seen.state is JobState.INTERRUPTED and seen.job.fleet:
        return [f"go on: {session.command('up')}"]
    words, verb = ways[seen.state]
    return [f"{words}: {session.command(verb, seen.job.id)}"]
