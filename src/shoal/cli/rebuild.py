"""`shoal rebuild`: makes the frontier of a job anew from the store, by hand; `tend` does the same by itself."""

from __future__ import annotations

import asyncio

import click

from shoal.cli.live import Line
from shoal.cli.session import Command, Session
from shoal.cli.words import count
from shoal.errors import FrontierLost, UsageError
from shoal.fleet.place import Fleet
from shoal.fleet.restoring import rebuild as restore
from shoal.model import ENDED, Figures
from shoal.store.jobs import Job, find_job

LOOK_EVERY_S = 0.5


@click.command(cls=Command)
@click.argument("job")
def rebuild(session: Session, job: str) -> None:
    """Restore the frontier of JOB (an id, the beginning of one, or "last") from the store.

    Nothing that is stored is fetched again. It may run while workers and tend do, and more than once.

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
        session.say(f"job {found.id} is restored: {count(figures.found)} found, {pending} of them still to do")


def _check_can_be_rebuilt(session: Session, job: Job) -> None:
    if not job.fleet:
        resume = session.command("resume", job.id)
        raise UsageError(f"job {job.id} is not a fleet's: its frontier is a file; `{resume}` goes on")
    if job.state in ENDED:
        raise UsageError(f"job {job.id} is {job.state}: it has no frontier any more, and nothing is missing")
    if job.started_at is None or not job.seeded:
        raise UsageError(f"job {job.id} has not all its URLs in the frontier yet: tend sees to that by itself")


async def _rebuild(session: Session, fleet: Fleet, job: Job) -> Figures:
    line = Line(session)
    work = asyncio.create_task(restore(fleet.frontier, fleet.store, job))
    try:
        while not work.done():
            await asyncio.wait({work}, timeout=line.every_s if session.json else LOOK_EVERY_S)
            if not work.done():
                line.draw(f"restoring {job.id}: {await _so_far(fleet, job)} found again")
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
