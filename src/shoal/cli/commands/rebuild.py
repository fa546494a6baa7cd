"""`shoal rebuild`: rebuilds the frontier of a job from the store by hand; `tend` does the same automatically."""

from __future__ import annotations

import asyncio

import click

from shoal.cli.humanize import count, plural
from shoal.cli.progress_line import ProgressLine
from shoal.cli.session import Command, Session
from shoal.errors import FrontierLost, UsageError
from shoal.fleet.fleet import Fleet
from shoal.fleet.load_frontier import rebuild as restore
from shoal.model import ENDED, Figures
from shoal.store.jobs import Job, find_job

LOOK_EVERY_S = 0.5


@click.command(cls=Command)
@click.argument("job")
def rebuild(session: Session, job: str) -> None:
    """Restore the lost queue of JOB (id, id prefix, name or "last") in Redis from the database.

    Stored pages are not fetched again. You may run it while workers and tend run, and more than once.

    \b
    shoal rebuild last
    """
    session.refuse_api("rebuild", "the servers of the fleet")
    fleet = Fleet(session.settings)
    try:
        found = find_job(fleet.store, job)
        _check_can_be_rebuilt(session, found)
        figures = session.run(_rebuild(session, fleet, found))
    finally:
        session.run(fleet.close())
    if session.json:
        session.data({"job": found.id, "found": figures.found, "queued": figures.queued, "pages": figures.pages})
    else:
        pending = count(figures.queued + figures.leased)
        session.say(f"job {found.id} is restored: {plural(figures.found, 'request')} found, {pending} of them pending")


def _check_can_be_rebuilt(session: Session, job: Job) -> None:
    if not job.fleet:
        resume = session.command("resume", job.id)
        raise UsageError(f"job {job.id} does not belong to a fleet: its frontier is a file; continue with `{resume}`")
    if job.state in ENDED:
        raise UsageError(f"job {job.id} is {job.state}: an ended job has no frontier, so nothing needs to be restored")
    if job.started_at is None or not job.seeded:
        raise UsageError(f"job {job.id} is still starting: its URLs are being queued, there is nothing to rebuild yet")


async def _rebuild(session: Session, fleet: Fleet, job: Job) -> Figures:
    line = ProgressLine(session)
    work = asyncio.create_task(restore(fleet.frontier, fleet.store, job))
    try:
        while not work.done():
            await asyncio.wait({work}, timeout=line.every_s if session.json else LOOK_EVERY_S)
            if not work.done():
                line.draw(f"restoring {job.id}: {await _so_far(fleet, job)} requests restored")
    finally:
        line.clear()
    await work
    await fleet.ring()
    return await fleet.frontier.figures(job.id)


async def _so_far(fleet: Fleet, job: Job) -> str:
    try:
        return count((await fleet.frontier.figures(job.id)).found)
    except FrontierLost:
        return "0"
