"""`shoal resume`: continues a paused or interrupted job, in the process that runs it or in this one.

With new options it continues with those, and with a higher limit it also continues a job that reached a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from shoal.cli.backends import JobHandle
from shoal.cli.job_flags import change_options, concurrency_option
from shoal.cli.job_request import given_options
from shoal.cli.job_spec_text import higher_limit
from shoal.cli.run_job import run_job
from shoal.cli.session import Command, Session
from shoal.errors import UsageError
from shoal.model import JobState
from shoal.model.options import check_options
from shoal.store.jobs import Job
from shoal.urls.exclusions import read_exclusions


@click.command(cls=Command)
@click.argument("job")
@change_options
@concurrency_option
def resume(session: Session, job: str, concurrency: int, **options: Any) -> None:
    """Continue JOB (id, id prefix, name or "last").

    A paused job continues in the process that runs it. An interrupted job continues here and fetches again only what
    was in flight. A job that reached a limit continues if you give it a higher one. Options that you give replace those
    of the job; all others stay.

    \b
    shoal resume last
    shoal resume last --max-pages 5000
    shoal resume books --rate 0.5 --per-host 1
    """
    given = given_options(options)
    check_options(given)
    with session.open_jobs() as backend:
        resumed = backend.find(job)
        found, message = resumed.job, _resume(session, resumed, given)
    if message is not None:
        session.say(f"{message}; follow it: {session.command('watch', found.id)}")
        return
    exclusions = read_exclusions(session.settings.exclusions)
    with session.open_home() as home, home.lock_of(found.id).held():
        if not session.quiet and not session.json:
            session.say(f"job {found.id}: resuming {found.spec.name}")
        raise click.exceptions.Exit(run_job(session, home, found.id, concurrency, exclusions))


def _resume(session: Session, resumed: JobHandle, options: Mapping[str, Any]) -> str | None:
    """Returns a message, or None if the job is to continue in this process."""
    found = resumed.job
    was_limited = found.state is JobState.LIMITED
    if options:
        resumed.change(options)
    elif was_limited:
        raise _limited(session, found)
    # The new limit alone continues a job of a fleet, which may even have ended again by now.
    return f"job {found.id} continues" if was_limited and found.fleet else resumed.resume()


def _limited(session: Session, job: Job) -> UsageError:
    command = session.command("resume", job.id, higher_limit(job))
    return UsageError(f"job {job.id} is limited ({job.reason}): raise the limit to continue, `{command}`")
