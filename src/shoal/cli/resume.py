"""`shoal resume`: goes on with a paused or interrupted job, where it was worked on or in this process; with a higher
limit, also with one that a limit ended."""

from __future__ import annotations

from collections.abc import Mapping

import click

from shoal.cli.numbers import Whole
from shoal.cli.options import Duration, Size
from shoal.cli.reach import ReachedJob
from shoal.cli.run import run_job
from shoal.cli.session import Command, Session
from shoal.cli.terms import higher_limit
from shoal.errors import UsageError
from shoal.model import JobState
from shoal.store.jobs import Job
from shoal.urls.exclusions import read_exclusions


@click.command(cls=Command)
@click.argument("job")
@click.option("--max-pages", "pages", type=Whole(), metavar="N", help="From now on, N pages in all.")
@click.option("--max-pages-per-host", "pages_per_host", type=Whole(), metavar="N", help="N pages of a host in all.")
@click.option("--max-bytes", "bytes", type=Size(), metavar="SIZE", help="This much in all, e.g. 500M.")
@click.option("--max-seconds", "seconds", type=Duration(), metavar="TIME", help="This long in all, e.g. 90 or 10m.")
@click.option("--concurrency", type=Whole(), default=64, show_default=True, metavar="N", help="In flight in all.")
def resume(session: Session, job: str, concurrency: int, **limits: float | None) -> None:
    """Continue JOB (an id, the beginning of one, or "last").

    A job paused by `shoal pause` goes on where it was worked on; one that was interrupted goes on here, without
    fetching anything again but what was in flight. One that a limit ended goes on if it is given a higher one.

    \b
    shoal resume last
    shoal resume last --max-pages 5000
    """
    given = {name: value for name, value in limits.items() if value is not None}
    with session.open_jobs() as reached:
        resumed = reached.find(job)
        found, goes_on = resumed.job, _resume(session, resumed, given)
    if goes_on is not None:
        session.say(f"{goes_on}; follow it: {session.command('watch', found.id)}")
        return
    exclusions = read_exclusions(session.settings.exclusions)
    with session.open_home() as home, home.lock.held(found.id):
        if not session.quiet and not session.json:
            session.say(f"job {found.id}: resuming {found.spec.name}")
        raise click.exceptions.Exit(run_job(session, home, found.id, concurrency, exclusions))


def _resume(session: Session, resumed: ReachedJob, limits: Mapping[str, float]) -> str | None:
    """None: it can go on in this process."""
    found = resumed.job
    was_limited = found.state is JobState.LIMITED
    if limits:
        resumed.change_limits(limits)
    elif was_limited:
        raise _limited(session, found)
    # A fleet's goes on by that alone, and may have come to its end again.
    return f"job {found.id} goes on" if was_limited and found.fleet else resumed.resume()


def _limited(session: Session, job: Job) -> UsageError:
    way_on = session.command("resume", job.id, higher_limit(job))
    return UsageError(f"job {job.id} is limited, {job.reason}: `{way_on}`, with more than it had, goes on")
