"""`shoal pause` and `shoal cancel`: an operator's word on a job, which whoever works on it obeys."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session


@click.command(cls=Command)
@click.argument("job")
def pause(session: Session, job: str) -> None:
    """Stop leasing from JOB (an id, the beginning of one, or "last"), for now.

    What is in flight is finished; whoever works on the job waits for `shoal resume`.

    \b
    shoal pause last
    shoal resume last
    """
    with session.open_jobs() as reached:
        found = reached.find(job)
        said = found.pause()
    if session.json:
        session.data({"id": found.job.id, "state": "paused"})
    session.say(said)
    session.say(f"go on: {session.command('resume', found.job.id)}")


@click.command(cls=Command)
@click.argument("job")
def cancel(session: Session, job: str) -> None:
    """End JOB (an id, the beginning of one, or "last") for good, and keep its data.

    It may be running, paused or interrupted.

    \b
    shoal cancel last
    """
    with session.open_jobs() as reached:
        found = reached.find(job)
        said = found.cancel()
    if session.json:
        session.data({"id": found.job.id, "state": "cancelled"})
    session.say(said)
    session.say(f"its data is kept: {session.command('export', found.job.id, '-o pages.jsonl')}")
