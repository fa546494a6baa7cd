"""`shoal watch`: the progress of a job that another process runs. It only looks; leaving it changes nothing."""

from __future__ import annotations

import time

import click

from shoal.cli.failures import failure_name
from shoal.cli.figures import other_endings, summary_line
from shoal.cli.live import Line, Pulse
from shoal.cli.reach import ReachedJob
from shoal.cli.run import JSON_EVERY_S
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.cli.terms import higher_limit
from shoal.cli.words import plural
from shoal.errors import Unavailable
from shoal.jobs.overview import Overview
from shoal.jobs.place import Standing
from shoal.jobs.report import summary
from shoal.model import ENDED, JobState

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
    with session.open_jobs() as reached:
        found = reached.find(job)
        try:
            _follow(session, found)
        except KeyboardInterrupt:
            session.say(f"job {found.job.id} goes on; watch it again: {session.command('watch', found.job.id)}")
            return
        _tell_end(session, found.overview())


def _follow(session: Session, found: ReachedJob) -> None:
    """Returns when nobody works on the job."""
    job = found.job
    pulse, line = Pulse(safe(job.spec.name), job.spec.limits.pages), Line(session)
    every_s = JSON_EVERY_S if session.json else line.every_s
    draw_at = count_at = time.monotonic()
    last: Standing | None = None
    try:
        while (stands := _look(found, last)).state not in ENDED:
            if stands.state is JobState.INTERRUPTED:
                return
            if time.monotonic() >= count_at:
                count_at = time.monotonic() + ERRORS_EVERY_S
                _count_errors(found, pulse)
            if time.monotonic() >= draw_at or _has_turned(last, stands):
                draw_at = time.monotonic() + every_s
                _draw(session, stands, pulse, line)
            last = stands
            time.sleep(LOOK_EVERY_S)
    finally:
        line.clear()


def _look(found: ReachedJob, last: Standing | None) -> Standing:
    """A server that is away when the watching has begun is waited for: the job waits for it too."""
    try:
        return found.standing()
    except Unavailable as error:
        if last is None:
            raise
        return last._replace(state=JobState.WAITING, limiting=str(error))


def _has_turned(last: Standing | None, now: Standing) -> bool:
    """Between lines that are half a minute apart, a job that begins to wait is told of at once."""
    return last is not None and last.state is not now.state and JobState.WAITING in (last.state, now.state)


def _count_errors(found: ReachedJob, pulse: Pulse) -> None:
    try:
        stored = found.overview().stored
    except Unavailable:
        # The errors known so far stay; `_look` tells what is away.
        return
    pulse.items = stored.items
    pulse.errors.clear()
    for group in stored.failures:
        pulse.errors[failure_name(group.kind, group.status)] += group.n


def _draw(session: Session, stands: Standing, pulse: Pulse, line: Line) -> None:
    figures, waiting = stands.figures, _waiting(stands, pulse)
    if session.json:
        progress = {"found": figures.found, "queued": figures.queued, "pages": figures.pages, "dead": figures.dead}
        why = {"waiting": waiting} if waiting else {}
        session.data({"type": "progress", "job": stands.job.id, **progress, **why})
    elif stands.state is JobState.WAITING:
        # In place of rate and ETA, which say nothing now and would push it out of the line.
        line.draw(f"{pulse.name} {plural(figures.pages, 'page')}, waiting: {safe(stands.limiting or '')}")
    elif stands.state is JobState.PAUSED:
        line.draw(pulse.beat(figures, "paused"))
    else:
        line.draw(pulse.beat(figures, f"waiting: {waiting}" if waiting else None))


def _waiting(stands: Standing, pulse: Pulse) -> str | None:
    """What it waits for, if for anything: a host's clock does not matter while others are fetched from."""
    rests = stands.state is JobState.RUNNING and (not stands.figures.leased or pulse.is_still)
    return stands.limiting if stands.state is JobState.WAITING or rests else None


def _tell_end(session: Session, seen: Overview) -> None:
    if session.json:
        session.data(summary(seen))
        return
    session.say(summary_line(seen))
    if others := other_endings(seen.frontier):
        session.say(f"  also: {others}")
    if seen.state is JobState.INTERRUPTED:
        way_on = session.command("up") if seen.job.fleet else session.command("resume", seen.job.id)
        session.say(f"no process works on it; {'go on' if seen.job.fleet else 'resume'}: {way_on}")
    if seen.state is JobState.LIMITED:
        session.say(f"go on: {session.command('resume', seen.job.id, higher_limit(seen.job))}")
