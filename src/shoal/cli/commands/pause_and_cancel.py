"""`shoal pause` and `shoal cancel`: change a job's state; the processes that work on the job obey."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session


@click.command(cls=Command)
@click.argument("job")
def pause(session: Session, job: str) -> None:
    """Pause JOB (id, id prefix, name or "last").

    Requests in flight are finished, and no new ones start until `shoal resume`.

    \b
    shoal pause last
    shoal resume last
    """
    with session.open_jobs() as backend:
        found = backend.find(job)
        message = found.pause()
    if session.json:
        session.data({"id": found.job.id, "state": "paused"})
    session.say(message)
    session.say(f"continue with: {session.command('resume', found.job.id)}")


@click.command(cls=Command)
@click.argument("job")
def cancel(session: Session, job: str) -> None:
    """Cancel JOB (id, id prefix, name or "last") for good and keep its data.

    The job may be running, paused or interrupted.

    \b
    shoal cancel last
    """
    with session.open_jobs() as backend:
        found = backend.find(job)
        message = found.cancel()
    if session.json:
        session.data({"id": found.job.id, "state": "cancelled"})
    session.say(message)
    session.say(f"its data is kept: {session.command('export', found.job.id, '-o pages.jsonl')}")
