"""`shoal jobs` and `shoal job`: which jobs there are, and everything about one."""

from __future__ import annotations

from datetime import datetime
from shutil import get_terminal_size

import click

from shoal.cli.figures import archived, extent, extracted, other_endings, pending, skipped, statuses, told, trap_lines
from shoal.cli.places import Places
from shoal.cli.quality import job_quality, quality_lines
from shoal.cli.session import Command, Session, safe, table
from shoal.cli.terms import terms
from shoal.cli.words import duration, failure_lines, size
from shoal.jobs.overview import Overview, overview
from shoal.jobs.place import Place, Standing
from shoal.model import JobState
from shoal.store.jobs import Job, list_jobs
from shoal.urls.traps import SAMPLES

HEADER = ("id", "state", "pages", "queued", "dead", "started", "name")
NUMBERS = frozenset({2, 3, 4})


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N jobs.")
def jobs(session: Session, limit: int) -> None:
    """List the jobs, newest first.

    \b
    shoal jobs
    shoal jobs --limit 100 --json
    """

    with session.open_places() as places:
        found = list_jobs(places.here.store, limit + 1) if places.exist else []
        if not found:
            _say_how_to_start(session)
        elif session.json:
            session.run(_print_figures(session, places, found[:limit]))
        else:
            session.run(_print_table(session, places, found[:limit]))
        if len(found) > limit and not session.json:
            session.say(f"older jobs are not shown: shoal jobs --limit {limit * 5}")


def _say_how_to_start(session: Session) -> None:
    session.say(f"there is no job in {session.settings.home} yet: `shoal crawl URL` starts one, `shoal demo` shows how")


async def _print_figures(session: Session, places: Places, found: list[Job]) -> None:

    for job in found:
        session.data((await overview(places.of(job), job.id)).as_dict())


async def _print_table(session: Session, places: Places, found: list[Job]) -> None:

    rows = [_row(await places.of(job).standing(job)) for job in found]
    for line in table(rows, HEADER, get_terminal_size().columns, NUMBERS):
        session.show(line)


def _row(stands: Standing) -> tuple[str, ...]:
    job, figures = stands.job, stands.figures
    counts = (f"{n:,}" for n in (figures.pages, figures.queued + figures.leased, figures.dead))
    return job.id, stands.state.value, *counts, _day_or_hour(job.started_at), safe(job.spec.name)


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

    with session.open_places() as places:
        place, found = places.find(job)
        seen = session.run(overview(place, found.id))
        quality = [] if session.json else _quality_lines(place, seen.job)
    if session.json:
        session.data(seen.as_dict())
        return
    for line in [*_lines(seen), *quality, *_way_on(seen)]:
        session.show(line)


def _lines(seen: Overview) -> list[str]:

    said = {**_figures(seen), **terms(seen.job.spec)}
    lines = [f"job {seen.job.id}: {safe(seen.job.spec.name)}, {seen.state}"]
    lines += [f"  {heading:<10}  {text}" for heading, text in said.items() if text]
    lines += trap_lines(seen, get_terminal_size().columns, SAMPLES)
    if seen.failures:
        lines += ["errors:", *failure_lines(seen.failures, seen.job.id)]
    return lines


def _quality_lines(place: Place, job: Job) -> list[str]:

    return quality_lines(*job_quality(place.store, job), get_terminal_size().columns)


def _figures(seen: Overview) -> dict[str, str]:

    return {
        "started": _times(seen.job),
        "pages": f"{extent(seen)}, {size(seen.stored.bytes)}",
        "status": statuses(seen),
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


def _way_on(seen: Overview) -> list[str]:

    id = seen.job.id
    ways = {
        JobState.RUNNING: f"follow it: shoal watch {id}",
        JobState.WAITING: f"follow it: shoal watch {id}",
        JobState.PAUSED: f"go on: shoal resume {id}",
        JobState.INTERRUPTED: f"resume: shoal resume {id}",
    }
    return [ways[seen.state]] if seen.state in ways else []
