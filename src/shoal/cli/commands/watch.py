"""`shoal watch`: shows the progress of a job that another process runs. It is read-only."""

from __future__ import annotations

import time

import click

from shoal.cli.backends import JobHandle
from shoal.cli.humanize import plural, sparkline
from shoal.cli.job_spec_text import higher_limit
from shoal.cli.job_text import other_outcomes, summary_line
from shoal.cli.progress_line import ProgressLine, ProgressMeter, progress_record
from shoal.cli.run_job import JSON_EVERY_S
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import Unavailable
from shoal.jobs.deployment import JobStatus
from shoal.jobs.failure_hints import failure_name
from shoal.jobs.job_overview import Overview
from shoal.jobs.run_summary import summary
from shoal.model import ENDED, Figures, JobState

LOOK_EVERY_S = 0.5
COUNTING_SHARE = 0.05
"""At most this share of the time is spent counting: 300,000 pages take 0.25 s."""

TREND_POINTS = 20
TREND_LEAST = 3
"""Fewer minutes show no trend."""


@click.command(cls=Command)
@click.argument("job")
def watch(session: Session, job: str) -> None:
    """Follow the progress of JOB (id, id prefix, name or "last") until it ends.

    Ctrl-C stops watching; the job continues.

    \b
    shoal watch last
    shoal watch last --json
    """
    with session.open_jobs() as backend:
        found = backend.find(job)
        try:
            _say_process(session, found)
            _follow(session, found)
        except KeyboardInterrupt:
            session.say(f"job {found.job.id} continues; watch it again: {session.command('watch', found.job.id)}")
            return
        _show_end(session, found.overview())


def _say_process(session: Session, found: JobHandle) -> None:
    pid = found.job_status().pid
    if pid and not session.json and not session.quiet:
        session.say(f"job {found.job.id} runs in process {pid}")


def _follow(session: Session, found: JobHandle) -> None:
    """Returns when no process works on the job."""
    job = found.job
    meter, line = ProgressMeter(safe(job.spec.name), job.spec.limits.pages), ProgressLine(session)
    every_s = JSON_EVERY_S if session.json else line.every_s
    draw_at = time.monotonic()
    last: JobStatus | None = None
    try:
        while (status := _look(found, last)).state not in ENDED:
            if status.state is JobState.INTERRUPTED:
                return
            if time.monotonic() >= draw_at or _waiting_changed(last, status):
                began = time.monotonic()
                # All figures of a line are of one moment.
                figures = _count(found, meter) or status.figures
                draw_at = began + max(every_s, (time.monotonic() - began) / COUNTING_SHARE)
                _draw(session, status._replace(figures=figures), meter, line)
            last = status
            time.sleep(LOOK_EVERY_S)
    finally:
        line.clear()


def _look(found: JobHandle, last: JobStatus | None) -> JobStatus:
    """After the first look, waits for a server that is unavailable: the job waits for it too."""
    try:
        return found.job_status()
    except Unavailable as error:
        if last is None:
            raise
        return last._replace(state=JobState.WAITING, limiting=str(error))


def _waiting_changed(last: JobStatus | None, now: JobStatus) -> bool:
    """Plain lines are half a minute apart, but a job that starts or stops waiting is shown at once."""
    return last is not None and last.state is not now.state and JobState.WAITING in (last.state, now.state)


def _count(found: JobHandle, meter: ProgressMeter) -> Figures | None:
    try:
        seen, meter.trend = found.overview(), _trend(found)
    except Unavailable:
        # Keep the items and errors known so far; `_look` reports what is unavailable.
        return None
    meter.items = seen.stored.items
    meter.errors.clear()
    for group in seen.stored.failures:
        meter.errors[failure_name(group.kind, group.status)] += group.n
    return seen.frontier


def _trend(found: JobHandle) -> str:
    rates = [point.pages_per_s for point in found.series()[-TREND_POINTS:]]
    return sparkline(rates) if len(rates) >= TREND_LEAST else ""


def _draw(session: Session, status: JobStatus, meter: ProgressMeter, line: ProgressLine) -> None:
    figures, waiting = status.figures, _waiting(status, meter)
    if session.json:
        session.data(progress_record(status.job.id, figures, meter.items, waiting))
    elif status.state is JobState.WAITING:
        # Without rate and ETA, which mean nothing now and would push the reason off the line.
        line.draw(f"{meter.name} {plural(figures.pages, 'page')}, waiting: {safe(status.limiting or '')}")
    elif status.state is JobState.PAUSED:
        line.draw(meter.line(figures, "paused"))
    else:
        line.draw(meter.line(figures, f"waiting: {waiting}" if waiting else None))


def _waiting(status: JobStatus, meter: ProgressMeter) -> str | None:
    """What the job waits for, or None: one host's delay does not matter while others are fetched."""
    idle = status.state is JobState.RUNNING and (not status.figures.leased or meter.is_still)
    return status.limiting if status.state is JobState.WAITING or idle else None


def _show_end(session: Session, seen: Overview) -> None:
    if session.json:
        session.data(summary(seen))
        return
    session.say(summary_line(seen))
    if others := other_outcomes(seen.frontier):
        session.say(f"  also: {others}")
    if seen.state in (JobState.FAILED, JobState.LIMITED) and seen.limiting:
        session.say(f"  {safe(seen.limiting)}")
    if seen.state is JobState.INTERRUPTED:
        command = session.command("up") if seen.job.fleet else session.command("resume", seen.job.id)
        session.say(f"no process works on it; {'continue with' if seen.job.fleet else 'resume'}: {command}")
    if seen.state is JobState.LIMITED:
        session.say(f"continue with: {session.command('resume', seen.job.id, higher_limit(seen.job))}")
