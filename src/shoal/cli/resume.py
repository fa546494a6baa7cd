"""`shoal resume`: goes on with a paused or interrupted job, where it was worked on or in this process."""

from __future__ import annotations

import click

from shoal.cli.run import run_job
from shoal.cli.session import Command, Session
from shoal.urls.exclusions import read_exclusions


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=64, show_default=True, metavar="N", help="In flight in all."
)
def resume(session: Session, job: str, concurrency: int) -> None:
    """Continue JOB (an id, the beginning of one, or "last").

    A job paused by `shoal pause` goes on where it was worked on; one that was interrupted goes on here, without
    fetching anything again but what was in flight.

    \b
    shoal resume last
    """
    with session.open_jobs() as reached:
        resumed = reached.find(job)
        found, goes_on = resumed.job, resumed.resume()
    if goes_on is not None:
        session.say(f"{goes_on}; follow it: {session.command('watch', found.id)}")
        return
    if not session.quiet and not session.json:
        session.say(f"job {found.id}: resuming {found.spec.name}")
    exclusions = read_exclusions(session.settings.exclusions)
    with session.open_home() as home:
        raise click.exceptions.Exit(run_job(session, home, found.id, concurrency, exclusions))
