"""`shoal delete`: removes jobs with all their data."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import NamedTuple

import click

from shoal.cli.backends import JobHandle, Jobs
from shoal.cli.humanize import plural, size
from shoal.cli.job_flags import Duration
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import UsageError
from shoal.jobs.job_overview import Overview
from shoal.model.option import Bound

MOST_JOBS = 100_000
_AGE = Bound(0, 10**9, whole=False)


@click.command(cls=Command)
@click.argument("job", nargs=-1)
@click.option("--older", type=Duration(_AGE), metavar="TIME", help="All jobs that ended longer ago. Example: 30d.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def delete(session: Session, job: tuple[str, ...], older: float | None, yes: bool) -> None:
    """Delete JOB (id, id prefix, name or "last") with all its data: pages, items, dead letters and archive.

    The command says what it would delete and asks first. A job that runs must be cancelled before. A name stands for
    the newest job of that name only.

    \b
    shoal delete last
    shoal delete nfjssz0n nfjtgbw2 --yes
    shoal delete --older 30d
    """
    if not job and older is None:
        raise UsageError("name the jobs to delete, or give --older TIME; `shoal jobs` lists them")
    with session.open_jobs() as backend:
        found = _found(backend, job, older)
        if not found:
            session.say("no job ended so long ago: nothing is deleted")
            return
        seen = [_Extent(one.overview(), backend.database_bytes(one.job.id)) for one in found.values()]
        _confirm(session, seen, yes)
        for one, extent in zip(found.values(), seen, strict=True):
            one.remove()
            if session.json:
                session.data({"deleted": one.job.id, **extent.as_dict()})
            else:
                session.say(f"job {one.job.id} ({safe(one.job.spec.name)}) is deleted, with {extent}")


class _Extent(NamedTuple):
    """What a job has stored."""

    overview: Overview
    database_bytes: int

    def as_dict(self) -> dict[str, int]:
        stored = self.overview.stored
        counts = {"pages": stored.pages, "items": stored.items}
        return {**counts, "archive_bytes": self.overview.archive_bytes, "database_bytes": self.database_bytes}

    def __str__(self) -> str:
        stored, archive_bytes = self.overview.stored, self.overview.archive_bytes
        parts = [plural(stored.pages, "page")]
        parts += [plural(stored.items, "item")] if stored.items else []
        parts += [f"{size(archive_bytes)} of archive"] if archive_bytes else []
        return ", ".join([*parts, f"{size(self.database_bytes)} of database"])


def _found(backend: Jobs, names: tuple[str, ...], older: float | None) -> dict[str, JobHandle]:
    """By id: two names may mean one job."""
    found = [backend.find(name) for name in names]
    if older is not None:
        found += [backend.find(id) for id in _ended_before(backend, time.time() - older)]
    return {one.job.id: one for one in found}


def _ended_before(backend: Jobs, at: float) -> list[str]:
    return [
        figures["id"]
        for figures in backend.newest_figures(MOST_JOBS)
        if figures["finished_at"] and datetime.fromisoformat(figures["finished_at"]).timestamp() < at
    ]


def _confirm(session: Session, seen: list[_Extent], yes: bool) -> None:
    """Raises UsageError if nobody can be asked, and click.Abort if the answer is no."""
    if yes:
        return
    for extent in seen:
        one = extent.overview
        session.say(f"job {one.job.id}: {safe(one.job.spec.name)}, {one.state}, {extent}")
    if not sys.stdin.isatty():
        raise UsageError("this cannot be undone, and stdin is no terminal that could be asked: give --yes")
    if not click.confirm(f"delete {plural(len(seen), 'job')} for good?", err=True):
        session.say("nothing is deleted")
        raise click.exceptions.Exit(1)
