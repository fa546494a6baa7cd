"""Runs a job in this process under a person's eyes: progress, Ctrl-C, the summary, the output file."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import suppress
from shlex import quote
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from shoal import telemetry
from shoal.cli.failures import failure_lines, failure_name
from shoal.cli.figures import (
    extracted,
    left_out,
    other_endings,
    pending,
    refreshed,
    skipped,
    statuses,
    summary_line,
    trap_lines,
)
from shoal.cli.live import Line, Pulse, until
from shoal.cli.output import write_data
from shoal.cli.quality import quality_lines, quality_records
from shoal.cli.session import Session
from shoal.cli.streams import until_unread
from shoal.cli.terminal import safe
from shoal.cli.terms import higher_limit
from shoal.cli.words import plural
from shoal.embedded.crawl import Crawl, Report
from shoal.embedded.home import Home
from shoal.engine.ending import Ending
from shoal.errors import UsageError
from shoal.jobs.data import default_data
from shoal.jobs.quality import Quality, job_quality
from shoal.jobs.report import (
    EXIT_BLOCKED,
    EXIT_FAILURES,
    EXIT_INTERRUPTED,
    EXIT_NOTHING,
    exit_code,
    summary,
    why_nothing,
)
from shoal.model import Figures, JobState
from shoal.store.jobs import load_job
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

JSON_EVERY_S = 5.0
GROUPS_SHOWN = 8
"""Of failures; `shoal job` shows more."""
GARBAGE_EVERY = 50_000
"""Objects made and not freed, between two looks for cycles."""


def run_job(
    session: Session,
    home: Home,
    job_id: str,
    concurrency: int,
    exclusions: Exclusions,
    spider: Spider | None = None,
) -> int:
    """Runs or continues the job to its end; gives the exit code. A spider that is at hand is not loaded again."""
    telemetry.set_up(session.verbose)
    crawl = Crawl(home, job_id, concurrency, exclusions, spider)
    report = _event_loop_run(_watched(session, home, crawl))
    try:
        written = _write_output(home, job_id)
    except UsageError as error:
        _report(session, home, report, None)
        _tell_unwritten(session, report, error)
    else:
        _report(session, home, report, written)
    return exit_code(report.overview)


def _event_loop_run(main: Any) -> Any:
    # Reference counts free what a page leaves; the collector would walk everything that was loaded again and again.
    gc.freeze()
    gc.set_threshold(GARBAGE_EVERY, 20, 100)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


async def _watched(session: Session, home: Home, crawl: Crawl) -> Report:
    job = load_job(home.store, crawl.job_id)
    pulse, line, over = Pulse(safe(job.spec.name), job.spec.limits.pages), Line(session), asyncio.Event()
    # The first rate is told against where the run began.
    pulse.beat(await home.frontier.figures(job.id) if job.started_at else Figures())

    def note(ending: Ending) -> None:
        if ending.failed:
            pulse.errors[failure_name(*ending.failed)] += 1

    crawl.engine.on_ending = note
    _stop_on_signals(session, crawl, line)
    drawing = asyncio.create_task(_draw(session, home, crawl, pulse, line, over))
    try:
        return await crawl.run()
    finally:
        over.set()
        await drawing
        line.clear()


async def _draw(session: Session, home: Home, crawl: Crawl, pulse: Pulse, line: Line, over: asyncio.Event) -> None:
    every_s = JSON_EVERY_S if session.json else line.every_s
    while not await until(over, every_s):
        figures = await home.frontier.figures(crawl.job_id)
        if session.json:
            progress = {"found": figures.found, "queued": figures.queued, "pages": figures.pages, "dead": figures.dead}
            waiting = crawl.engine.waiting_for or crawl.engine.reading_notes().get(crawl.job_id)
            why = {"waiting": waiting} if waiting else {}
            # A log without room must not end the crawl, which may be waiting for some.
            with suppress(OSError):
                session.data({"type": "progress", "job": crawl.job_id, **progress, **why})
            continue
        if crawl.engine.waiting_for:
            # In place of rate and ETA, which say nothing now and would push it out of the line.
            line.draw(f"{pulse.name} {plural(figures.pages, 'page')}, waiting: {safe(crawl.engine.waiting_for)}")
            continue
        waiting = crawl.engine.reading_notes().get(crawl.job_id)
        if not waiting and not figures.leased:
            waiting = await home.frontier.limiting(crawl.job_id)
        paused = await home.frontier.rest(crawl.job_id) == "paused"
        line.draw(pulse.beat(figures, "paused" if paused else f"waiting: {waiting}" if waiting else None))


def _stop_on_signals(session: Session, crawl: Crawl, line: Line) -> None:
    asked = False

    def stop() -> None:
        nonlocal asked
        if asked:
            line.clear()
            session.say(f"left at once; resume: {session.command('resume', crawl.job_id)}")
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(EXIT_INTERRUPTED)
        asked = True
        line.clear()
        session.say(
            f"stopping: {plural(crawl.engine.in_flight, 'request')} in flight to finish; again to leave at once"
        )
        crawl.engine.stop()

    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop)


def _write_output(home: Home, job_id: str) -> int | None:
    job = load_job(home.store, job_id)
    if job.spec.output is not None:
        with until_unread():
            return write_data(home.store, job_id, default_data(job), job.spec.output)
    return None


def _tell_unwritten(session: Session, report: Report, error: UsageError) -> None:
    """Raises UsageError, with the way to the file, unless the job has not ended: it writes one when it does."""
    job = report.overview.job
    if report.overview.state is JobState.INTERRUPTED:
        session.say(f"warning: {error}")
        return
    again = session.command("export", job.id, "-o", quote(job.spec.output or ""))
    raise UsageError(f"{error}; nothing is lost: `{again}` writes it later") from error


def _report(session: Session, home: Home, report: Report, written: int | None) -> None:
    quality = job_quality(home.store, report.overview.job)
    if session.json:
        with until_unread():
            _report_as_json(session, report, quality)
    elif not session.quiet:
        _report_in_words(session, report, quality, written)


def _report_as_json(session: Session, report: Report, quality: Quality) -> None:
    for group in report.overview.failures:
        error = {
            "kind": group.kind,
            "status": group.status,
            "host": group.host,
            "count": group.n,
            "sample": group.sample,
        }
        session.data({"type": "error", **error})
    for record in quality_records(*quality):
        session.data(record)
    session.data(summary(report.overview))
    code = exit_code(report.overview)
    if code in (EXIT_NOTHING, EXIT_BLOCKED, EXIT_FAILURES):
        message = report.overview.job.reason if code == EXIT_FAILURES else why_nothing(report.overview)
        session.data({"type": "exit_error", "code": code, "message": message})


def _report_in_words(session: Session, report: Report, quality: Quality, written: int | None) -> None:
    overview = report.overview
    spec = overview.job.spec
    session.say(summary_line(overview))
    for line in _detail_lines(report):
        session.say(line)
    for line in trap_lines(overview, get_terminal_size().columns, samples=1):
        session.say(line)
    for line in quality_lines(*quality, get_terminal_size().columns):
        session.say(line)
    for line in failure_lines(session, overview, GROUPS_SHOWN, further="job"):
        session.say(line)
    if exit_code(overview) in (EXIT_NOTHING, EXIT_BLOCKED):
        session.say(f"error: {why_nothing(overview)}")
    if written is not None and spec.output != "-":
        session.say(f"wrote {plural(written, 'record')} to {spec.output}")
    if overview.state is JobState.INTERRUPTED:
        session.say(f"resume: {session.command('resume', overview.job.id)}")
    else:
        kinds = ("job", "items", "pages", "dead") if default_data(overview.job) == "items" else ("job", "pages", "dead")
        further = " | ".join(f"{kind} {overview.job.id}" for kind in kinds)
        session.say(f"look further: {session.command(further)}")
    if overview.state is JobState.LIMITED:
        session.say(f"go on: {session.command('resume', overview.job.id, higher_limit(overview.job))}")


def _detail_lines(report: Report) -> list[str]:
    overview = report.overview
    said = {
        "items": extracted(overview),
        "status": statuses(overview) if set(overview.stored.by_status) - {"200"} else "",
        "refresh": refreshed(overview),
        "also": ", ".join(filter(None, (other_endings(overview.frontier), pending(overview.frontier)))),
        "links skipped": skipped(overview),
        "archive": left_out(overview),
    }
    lines = [f"  {heading}: {text}" for heading, text in said.items() if text]
    reason = overview.job.reason if overview.frontier.pages else None
    return [*lines, f"  {safe(reason)}"] if reason else lines
