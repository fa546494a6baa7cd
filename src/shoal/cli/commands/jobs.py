"""`shoal jobs` lists the jobs; `shoal job` shows everything about one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from shutil import get_terminal_size

import click

from shoal.cli.backends import JobHandle, Jobs, ListedJob, Record
from shoal.cli.humanize import duration, size
from shoal.cli.job_spec_text import higher_limit, terms
from shoal.cli.job_text import (
    archived,
    assets,
    cost,
    extent,
    extracted,
    merged,
    other_outcomes,
    pending,
    refreshed,
    rendered,
    shape_lines,
    sink_lines,
    skipped,
    state_words,
    statuses,
    trap_lines,
    webhook_deliveries,
)
from shoal.cli.no_items_text import no_items_line, unmatched_lines
from shoal.cli.numbers import Whole
from shoal.cli.request_failures import failure_lines, failure_records
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, table
from shoal.jobs.job_overview import Overview
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job
from shoal.urls.traps import SAMPLES

HEADER = ("id", "state", "pages", "queued", "dead", "started", "name")
NUMBERS = frozenset({2, 3, 4})
SIZES_HEADER = ("id", "state", "pages", "items", "fetched", "archive", "database", "name")
SIZES_NUMBERS = frozenset({2, 3, 4, 5, 6})
GROUPS_SHOWN = 100
"""Groups of failures shown: a crawl of many hosts has thousands."""


@click.command(cls=Command)
@click.option("--limit", type=Whole(), default=20, show_default=True, metavar="N", help="At most N jobs.")
@click.option("--sizes", is_flag=True, help="Show how much each job has stored, the largest first.")
def jobs(session: Session, limit: int, sizes: bool) -> None:
    """List the jobs, newest first. The number behind a state is the process that crawls the job.

    \b
    shoal jobs
    shoal jobs --sizes
    shoal jobs --limit 100 --json
    """
    with session.open_jobs() as backend:
        if sizes:
            shown = _print_sizes(session, [_with_size(backend, one) for one in backend.newest_figures(limit)])
        elif session.json:
            shown = _print_figures(session, backend.newest_figures(limit))
        else:
            shown = _print_table(session, backend.newest(limit + 1), limit)
    if not shown:
        _say_how_to_start(session)


def _say_how_to_start(session: Session) -> None:
    settings = session.settings
    remote = settings.api_url or settings.redis_url
    where = settings.shown("api_url" if settings.api_url else "redis_url" if remote else "home")
    begin = session.command("submit" if remote else "crawl", "URL")
    demo = "" if remote else ", `shoal demo` shows an example"
    session.say(f"there is no job in {where} yet: `{begin}` starts one{demo}")


def _print_figures(session: Session, figures: Iterable[Record]) -> int:
    shown = 0
    for one in figures:
        session.data(one)
        shown += 1
    return shown


def _print_sizes(session: Session, figures: list[Record]) -> int:
    """`fetched` are the bytes of all pages as they came; `archive` is what the archive keeps of them, compressed."""
    largest_first = sorted(figures, key=lambda one: one["archive_bytes"] + one["database_bytes"], reverse=True)
    if session.json:
        return _print_figures(session, largest_first)
    if figures:
        for line in table(map(_sizes_row, largest_first), SIZES_HEADER, get_terminal_size().columns, SIZES_NUMBERS):
            session.show(line)
        archive, database = (size(sum(one[name] for one in figures)) for name in ("archive_bytes", "database_bytes"))
        delete = session.command("delete", "ID")
        session.say(f"in all {archive} of archive, {database} of database; `{delete}` frees a job's")
    return len(figures)


def _with_size(backend: Jobs, one: Record) -> Record:
    return one | {"database_bytes": backend.database_bytes(one["id"])}


def _sizes_row(one: Record) -> tuple[str, ...]:
    counts = (
        f"{one['pages']:,}",
        f"{one['items']:,}",
        size(one["bytes"]),
        size(one["archive_bytes"]),
        size(one["database_bytes"]),
    )
    return one["id"], one["state"], *counts, safe(one["name"])


def _print_table(session: Session, found: list[ListedJob], limit: int) -> int:
    if found:
        for line in table(map(_row, found[:limit]), HEADER, get_terminal_size().columns, NUMBERS):
            session.show(line)
    if len(found) > limit:
        session.say(f"older jobs are not shown: {session.command('jobs', f'--limit {limit * 5}')}")
    return len(found)


def _row(job: ListedJob) -> tuple[str, ...]:
    figures = job.figures
    queued = f"{figures.queued + figures.leased:,}" if figures.pending_known or job.state in ENDED else "?"
    counts = f"{figures.pages:,}", queued, f"{figures.dead:,}"
    state = f"{job.state} ({job.pid})" if job.pid else str(job.state)
    return job.id, state, *counts, _day_or_hour(job.started_at), safe(job.name)


def _day_or_hour(at: float | None) -> str:
    if at is None:
        return "–"
    then = datetime.fromtimestamp(at).astimezone()
    return f"{then:%H:%M:%S}" if then.date() == datetime.now().astimezone().date() else f"{then:%Y-%m-%d}"


@click.command(cls=Command)
@click.argument("job")
def job(session: Session, job: str) -> None:
    """Show JOB (id, id prefix, name or "last"): its state, counts, errors, what it waits for, and its options.

    \b
    shoal job last
    shoal job nfjssz0n --json
    """
    with session.open_jobs() as backend:
        found = backend.find(job)
        if session.json:
            seen = found.overview()
            session.data(seen.as_dict() | {"failures": failure_records(seen.failures)} | process_of(seen))
            return
        lines = job_lines(session, found)
    for line in lines:
        session.show(line)


def job_lines(session: Session, found: JobHandle) -> list[str]:
    """Everything about a job, as text."""
    # Imported here: with it comes SQLAlchemy, which a list of jobs does without.
    from shoal.cli.quality_table import quality_lines

    seen = found.overview()
    quality = quality_lines(*found.quality(), get_terminal_size().columns)
    return [*_lines(session, seen), *quality, *_not_found(session, seen), *_next_command(session, seen)]


def process_of(seen: Overview) -> Record:
    """For JSON: only a home knows the process."""
    return {"pid": seen.pid} if seen.pid else {}


def _lines(session: Session, seen: Overview) -> list[str]:
    rows = {**figures(seen), **terms(seen.job.spec)}
    lines = [f"job {seen.job.id}: {safe(seen.job.spec.name)}, {state_words(seen)}"]
    lines += [f"  {heading:<10}  {text}" for heading, text in rows.items() if text]
    lines += [f"  {'sink':<10}  {line}" for line in sink_lines(seen)]
    lines += trap_lines(seen, get_terminal_size().columns, SAMPLES)
    lines += shape_lines(seen, get_terminal_size().columns, SAMPLES)
    return lines + failure_lines(session, seen, GROUPS_SHOWN, further="dead")


def _not_found(session: Session, seen: Overview) -> list[str]:
    lines = unmatched_lines(seen)
    return lines if seen.no_items is None else [*lines, no_items_line(session, seen)]


def figures(seen: Overview) -> dict[str, str]:
    return {
        "owner": safe(seen.owner or ""),
        "started": _times(seen.job),
        "process": str(seen.pid or ""),
        "pages": f"{extent(seen)}, {size(seen.stored.bytes)}",
        "status": statuses(seen),
        "refresh": refreshed(seen),
        "items": extracted(seen),
        "assets": assets(seen),
        "merged": merged(seen),
        "also": other_outcomes(seen.frontier),
        "pending": pending(seen.frontier),
        "skipped": skipped(seen),
        "rendered": rendered(seen),
        "cost": cost(seen),
        "archive": archived(seen),
        "webhook": webhook_deliveries(seen),
        "hook": safe(seen.on_finish or ""),
        "waits for" if seen.state in (JobState.RUNNING, JobState.WAITING) else "because": safe(seen.limiting or ""),
        "slow": safe(seen.why_slow or "") if seen.why_slow != seen.limiting else "",
    }


def _times(job: Job) -> str:
    if job.started_at is None:
        return "never"
    ended = f", ended {_clock(job.finished_at)}" if job.finished_at else ""
    worked = f", ran for {duration(job.seconds)}" if job.seconds else ""
    return f"{_clock(job.started_at)}{ended}{worked}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M:%S}"


def _next_command(session: Session, seen: Overview) -> list[str]:
    ways = {
        JobState.RUNNING: ("follow it", "watch"),
        JobState.WAITING: ("follow it", "watch"),
        JobState.PAUSED: ("continue with", "resume"),
        JobState.INTERRUPTED: ("resume", "resume"),
    }
    if seen.state is JobState.LIMITED:
        return [f"continue with: {session.command('resume', seen.job.id, higher_limit(seen.job))}"]
    if seen.state not in ways:
        again = session.command("resume", seen.job.id)
        return [f"deliver the rest: {again}"] if seen.sinks_behind and not seen.job.fleet else []
    if seen.state is JobState.INTERRUPTED and seen.job.fleet:
        return [f"continue with: {session.command('up')}"]
    words, verb = ways[seen.state]
    return [f"{words}: {session.command(verb, seen.job.id)}"]
