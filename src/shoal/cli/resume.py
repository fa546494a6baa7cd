"""`shoal resume`: goes on with a paused or interrupted job, in the process that runs it or in this one."""

from __future__ import annotations

import asyncio

import click

from shoal.cli.run import run_job
from shoal.cli.session import Command, Session
from shoal.embedded.crawl import resumable
from shoal.embedded.overview import current_state
from shoal.store.jobs import find_job
from shoal.urls.exclusions import read_exclusions


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=64, show_default=True, metavar="N", help="In flight in all."
)
def resume(session: Session, job: str, concurrency: int) -> None:
    """Continue JOB (an id, the beginning of one, or "last").

    A job paused by `shoal pause` goes on in the process that runs it; one that was interrupted goes on here,
    without fetching anything again but what was in flight.

    \b
    shoal resume last
    """

    with session.open_home() as home:
        found = find_job(home.store, job)
        state = asyncio.run(current_state(home, found))
        resumable(found, state)
        holder = home.holder()
        if holder is not None and holder["job"] == found.id:
            asyncio.run(home.frontier.resume(found.id))
            session.say(f"job {found.id} goes on in process {holder['pid']}; follow it: shoal watch {found.id}")
            return
        if not session.quiet and not session.json:
            session.say(f"job {found.id}: resuming {found.spec.name}")
        exclusions = read_exclusions(session.settings.exclusions)
        raise click.exceptions.Exit(run_job(session, home, found.id, concurrency, exclusions))
