"""`shoal watch`: shows the progress of a job that another process runs. It is read-only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import click

from shoal.cli.backends import JobHandle, Jobs
from shoal.cli.humanize import plural, sparkline
from shoal.cli.job_spec_text import higher_limit
from shoal.cli.job_text import other_outcomes, summary_line
from shoal.cli.live_calls import READ_TIMEOUT_S, LiveCalls
from shoal.cli.progress_line import ProgressLine, ProgressMeter, progress_record, waiting_note
from shoal.cli.run_job import JSON_EVERY_S
from shoal.cli.session import NOTICED_AFTER_S, Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import NoAnswer, Unavailable
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
T = TypeVar("T")


@click.command(cls=Command)
@click.argument("job")
def watch(session: Session, job: str) -> None:
    """Follow the progress of JOB (id, id prefix, name or "last") until it ends.

    Ctrl-C stops watching; the job continues.

    \b
    shoal watch last
    shoal watch last --json
    """
    session.read_timeout_s = READ_TIMEOUT_S
    with session.open_jobs() as backend:
        watching = _Watching(session)
        found = watching.find(backend, job)
        try:
            seen = watching.follow(found)
        except KeyboardInterrupt:
            session.say(f"job {found.job.id} continues; watch it again: {session.command('watch', found.job.id)}")
            return
        _show_end(session, seen)


class _Watching:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls = LiveCalls(session)
        self._line = ProgressLine(session)
        self._every_s = JSON_EVERY_S if session.json else self._line.every_s
        self._meter = ProgressMeter("")
        self._last: JobStatus | None = None
        self._silence_said_at: float | None = None
        """None: the line shows what the API answered last."""

    def find(self, backend: Jobs, name: str) -> JobHandle:
        try:
            found = self._answered(lambda: backend.find(name))
        finally:
            self._line.clear()
        self._meter = ProgressMeter(safe(found.job.spec.name), found.job.spec.limits.pages)
        return found

    def follow(self, found: JobHandle) -> Overview:
        """Returns the end when no process works on the job."""
        try:
            self._say_process(self._answered(found.job_status))
            self._draw_until_its_end(found)
            return self._answered(found.overview)
        finally:
            self._line.clear()

    def _say_process(self, status: JobStatus) -> None:
        self._last = status
        if status.pid and not self._session.json and not self._session.quiet:
            self._session.say(f"job {status.job.id} runs in process {status.pid}")

    def _draw_until_its_end(self, found: JobHandle) -> None:
        last, draw_at = self._last, time.monotonic()
        while (status := self._look(found)) is None or status.state not in (*ENDED, JobState.INTERRUPTED):
            if status is not None:
                if time.monotonic() >= draw_at or _waiting_changed(last, status):
                    began = time.monotonic()
                    # All figures of a line are of one moment.
                    figures = self._count(found) or status.figures
                    took_s = min(time.monotonic() - began, NOTICED_AFTER_S)
                    draw_at = began + max(self._every_s, took_s / COUNTING_SHARE)
                    self._draw(status._replace(figures=figures))
                elif self._silence_said_at is not None:
                    self._draw(status)
                last = status
            time.sleep(LOOK_EVERY_S)

    def _look(self, found: JobHandle) -> JobStatus | None:
        """None: no answer. A server of the fleet that is unavailable is waited for: the job waits for it too."""
        assert self._last is not None
        try:
            self._last = self._answered(found.job_status)
        except NoAnswer:
            if silence := self._calls.silence:
                self._say_silence(silence)
            return None
        except Unavailable as error:
            return self._last._replace(state=JobState.WAITING, limiting=str(error))
        return self._last

    def _count(self, found: JobHandle) -> Figures | None:
        meter = self._meter
        try:
            seen, meter.trend = self._answered(lambda: (found.overview(), _trend(found)))
        except Unavailable:
            # Keep the items and errors known so far; `_look` reports what is unavailable.
            return None
        meter.items = seen.stored.items
        meter.errors.clear()
        for group in seen.stored.failures:
            meter.errors[failure_name(group.kind, group.status)] += group.n
        return seen.frontier

    def _answered(self, call: Callable[[], T]) -> T:
        return self._calls.answered(call, self._say_silence)

    def _say_silence(self, silence: str) -> None:
        now, said_at = time.monotonic(), self._silence_said_at
        if said_at is not None and now - said_at < self._every_s:
            return
        self._silence_said_at, last = now, self._last
        if not self._session.json:
            known = f"; {plural(last.figures.pages, 'page')} so far" if last else ""
            self._line.draw(silence + known)
        elif last:
            self._session.data(progress_record(last.job.id, last.figures, self._meter.items, silence))

    def _draw(self, status: JobStatus) -> None:
        self._silence_said_at, meter = None, self._meter
        figures, waiting = status.figures, _waiting(status, meter)
        if self._session.json:
            self._session.data(progress_record(status.job.id, figures, meter.items, waiting))
        elif status.state is JobState.WAITING:
            # Without rate and ETA, which mean nothing now and would push the reason off the line.
            self._line.draw(f"{meter.name} {plural(figures.pages, 'page')}, waiting: {safe(status.limiting or '')}")
        elif status.state is JobState.PAUSED:
            self._line.draw(meter.line(figures, "paused"))
        else:
            self._line.draw(meter.line(figures, waiting_note(waiting)))


def _waiting_changed(last: JobStatus | None, now: JobStatus) -> bool:
    """Plain lines are half a minute apart, but a job that starts or stops waiting is shown at once."""
    return last is not None and last.state is not now.state and JobState.WAITING in (last.state, now.state)


def _trend(found: JobHandle) -> str:
    rates = [point.pages_per_s for point in found.series()[-TREND_POINTS:]]
    return sparkline(rates) if len(rates) >= TREND_LEAST else ""


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
