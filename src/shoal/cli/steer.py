"""`shoal pause` and `shoal cancel`: an operator's word on a job, which the process that runs it obeys."""

from __future__ import annotations

import asyncio

import click

from shoal.cli.session import Command, Session
from shoal.embedded import steer
from shoal.store.jobs import find_job


@click.command(cls=Command)
@click.argument("job")
def pause(session: Session, job: str) -> None:
    """Stop leasing from JOB (an id, the beginning of one, or "last"), for now.

    What is in flight is finished; the process that runs the job waits for `shoal resume`.

    \b
    shoal pause last
    shoal resume last
    """

    with session.open_home() as home:
        found = find_job(home.store, job)
        worker = asyncio.run(steer.pause(home, found))
    if session.json:
        session.data({"id": found.id, "state": "paused"})
    session.say(f"job {found.id} is paused; process {worker} waits")
    session.say(f"go on: shoal resume {found.id}")


@click.command(cls=Command)
@click.argument("job")
def cancel(session: Session, job: str) -> None:
    """End JOB (an id, the beginning of one, or "last") for good, and keep its data.

    It may be running, paused or interrupted.

    \b
    shoal cancel last
    """

    with session.open_home() as home:
        found = find_job(home.store, job)
        worker = asyncio.run(steer.cancel(home, found))
    if session.json:
        session.data({"id": found.id, "state": "cancelled"})
    ending = f"; process {worker} saves what is in flight and ends" if worker is not None else ""
    session.say(f"job {found.id} is cancelled{ending}")
    session.say(f"its data is kept: shoal export {found.id} -o pages.jsonl")
