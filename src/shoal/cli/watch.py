"""`shoal watch`: the progress of a job that another process runs. It only looks; leaving it changes nothing."""

from __future__ import annotations

import asyncio
import time

import click

from shoal.cli.figures import other_endings, summary_line
from shoal.cli.live import Line, Pulse
from shoal.cli.run import JSON_EVERY_S
from shoal.cli.session import Command, Session, safe
from shoal.cli.words import failure_name
from shoal.embedded.crawl import Report
from shoal.embedded.home import Home
from shoal.embedded.overview import overview
from shoal.embedded.report import summary
from shoal.embedded.standing import Standing, standing
from shoal.model import ENDED, JobState
from shoal.store.figures import stored_figures
from shoal.store.jobs import find_job, load_job

LOOK_EVERY_S = 0.5
ERRORS_EVERY_S = 10.0
"""The store counts a job's errors along with its pages, at 0.25 s for 300,000 of them."""


@click.command(cls=Command)
@click.argument("job")
def watch(session: Session, job: str) -> None:
    """Follow JOB (an id, the beginning of one, or "last") from another terminal until it ends.

    Ctrl-C stops the watching, not the job.

    \b
    shoal watch last
    shoal watch last --json
    """

    with session.open_home() as home:
        job_id = find_job(home.store, job).id
        try:
            asyncio.run(_follow(session, home, job_id))
        except KeyboardInterrupt:
            session.say(f"job {job_id} goes on; watch it again: shoal watch {job_id}")
            return
        asyncio.run(_tell_end(session, home, job_id))


async def _follow(session: Session, home: Home, job_id: str) -> None:
    """Returns when nobody works on the job."""

    job = load_job(home.store, job_id)
    pulse, line = Pulse(safe(job.spec.name), job.spec.limits.pages), Line(session)
    every_s = JSON_EVERY_S if session.json else line.every_s
    draw_at = count_at = time.monotonic()
    try:
        while (stands := await standing(home, load_job(home.store, job_id))).state not in ENDED:
            if stands.state is JobState.INTERRUPTED:
                return
            if time.monotonic() >= count_at:
                count_at = time.monotonic() + ERRORS_EVERY_S
                _count_errors(home, job_id, pulse)
            if time.monotonic() >= draw_at:
                draw_at = time.monotonic() + every_s
                await _draw(session, home, stands, pulse, line)
            await asyncio.sleep(LOOK_EVERY_S)
    finally:
        line.clear()


def _count_errors(home: Home, job_id: str, pulse: Pulse) -> None:

    stored = stored_figures(home.store, job_id)
    pulse.items = stored.items
    pulse.errors.clear()
    for group in stored.failures:
        pulse.errors[failure_name(group.kind, group.status)] += group.n


async def _draw(session: Session, home: Home, stands: Standing, pulse: Pulse, line: Line) -> None:

    figures, job_id = stands.figures, stands.job.id
    if session.json:
        progress = {"found": figures.found, "queued": figures.queued, "pages": figures.pages, "dead": figures.dead}
        session.data({"type": "progress", "job": job_id, **progress})
        return
    note = None
    if stands.state is JobState.PAUSED:
        note = "paused"
    elif stands.state is JobState.RUNNING and not figures.leased:
        waiting = await home.frontier.limiting(job_id)
        note = f"waiting: {waiting}" if waiting else None
    line.draw(pulse.beat(figures, note))


async def _tell_end(session: Session, home: Home, job_id: str) -> None:

    seen = await overview(home, job_id)
    if session.json:
        session.data(summary(Report(seen, seen.job.seconds)))
        return
    session.say(summary_line(seen))
    if others := other_endings(seen.frontier):
        session.say(f"  also: {others}")
    if seen.state is JobState.INTERRUPTED:
        session.say(f"no process works on it; resume: shoal resume {job_id}")
