"""Runs a job in this process for a person at a terminal: progress, Ctrl-C and the output file."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from shoal import telemetry
from shoal.cli.humanize import plural
from shoal.cli.progress_line import ProgressLine, ProgressMeter, progress_record, until, waiting_note
from shoal.cli.report_run import report_run, report_write_error
from shoal.cli.request_line import request_line
from shoal.cli.session import Session
from shoal.cli.stdio import prints_to_stderr
from shoal.cli.terminal_text import safe
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.embedded.report import Report
from shoal.engine.request_result import RequestResult
from shoal.errors import CrawlCancelled, FrontierLost, Unavailable, UsageError
from shoal.jobs.failure_hints import failure_name
from shoal.jobs.job_overview import Overview
from shoal.jobs.run_summary import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    exit_code,
)
from shoal.model import Drop, Figures, PageRecord
from shoal.sinks import THREADS
from shoal.spiders.run_event_loop import run_in_new_loop
from shoal.store.jobs import Job, load_job
from shoal.store.results.job_figures import stored_figures
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.cli.stream_output import OutputStream
    from shoal.spiders.spider import Spider

JSON_EVERY_S = 5.0
GARBAGE_EVERY = 50_000
"""Allocations between two runs of the garbage collector."""


def run_job(
    session: Session,
    home: Home,
    job_id: str,
    concurrency: int,
    exclusions: Exclusions,
    spider: Spider | None = None,
) -> int:
    """Runs or continues the job to its end and returns the exit code. A given spider is not loaded again."""
    telemetry.set_up(session.verbose)
    threads, coroutines = set(threading.enumerate()), _coroutines_given_up()
    job = load_job(home.store, job_id)
    stream = None if job.spec.output is None else _stream_of(home, job)
    if stream is not None:
        try:
            stream.start()
        except UsageError as error:
            session.say(f"warning: {error}; the crawl tries again when it ends")
    own = session.settings
    crawl = Crawl(home, job_id, concurrency, exclusions, spider, own.secrets, own.browser, own.proxies)
    with prints_to_stderr():
        try:
            report = _event_loop_run(_run_with_progress(session, home, crawl, stream))
        except asyncio.CancelledError:
            again = session.command("resume", job_id)
            raise CrawlCancelled(
                f"something cancelled all tasks of the crawl, likely the spider; resume: {again}"
            ) from None
        except UsageError:
            if stream is not None:
                stream.remove_if_empty(got_pages=False)
            raise
    try:
        written = None if stream is None else _finish_output(session, report.overview, stream)
    except (UsageError, Unavailable) as error:
        report_run(session, home, report, None)
        report_write_error(session, report, error)
    else:
        report_run(session, home, report, written)
    if report.overview.job.spec.spider is not None:
        _end_with_threads(session, set(threading.enumerate()) - threads, exit_code(report.overview))
        if _coroutines_given_up() > coroutines:
            # They ignored their end, and Python might wait for them.
            sys.stdout.flush()
            os._exit(exit_code(report.overview))
    return exit_code(report.overview)


def _stream_of(home: Home, job: Job) -> OutputStream | None:
    # Imported here only: it reads rows with SQLAlchemy, whose import takes longer than a small crawl.
    from shoal.cli.stream_output import OutputStream, output_of

    file = output_of(job)
    return None if file is None else OutputStream(home.store, job, file)


def _finish_output(session: Session, overview: Overview, stream: OutputStream) -> int | None:
    """Returns the number of rows, None if there is no file. Raises UsageError if it cannot be written."""
    if exit_code(overview) != EXIT_DONE and stream.remove_if_empty(bool(overview.frontier.pages)):
        return None
    written = stream.finish()
    if written and not session.quiet and (lacking := stream.lacking_fields()):
        session.say(f"warning: no item has the field {safe(', '.join(lacking))}: its column is empty")
    return written


def _end_with_threads(session: Session, new: set[threading.Thread], code: int) -> None:
    """Ends the process if the spider left threads, or a sink does not answer: Python would wait for them."""
    running = [thread for thread in new if not thread.daemon and thread.is_alive()]
    of_spider = [thread for thread in running if not thread.name.startswith(f"{THREADS}_")]
    if running:
        if of_spider and not session.quiet and not session.json:
            session.say(f"warning: the spider left {plural(len(of_spider), 'thread')} running; they end now")
        sys.stdout.flush()
        os._exit(code)


def _coroutines_given_up() -> int:
    """Without importing the module, which only a spider needs."""
    module = sys.modules.get("shoal.spiders.callback_tasks")
    return len(module.given_up) if module is not None else 0


def _event_loop_run(main: Any) -> Any:
    # Reference counting frees the objects of a page; the collector would only scan all loaded modules again and again.
    gc.freeze()
    gc.set_threshold(GARBAGE_EVERY, 20, 100)
    try:
        import uvloop
    except ImportError:
        return run_in_new_loop(main)
    return run_in_new_loop(main, uvloop.new_event_loop)


async def _run_with_progress(session: Session, home: Home, crawl: Crawl, stream: OutputStream | None) -> Report:
    job = load_job(home.store, crawl.job_id)
    meter = ProgressMeter(safe(job.spec.name), job.spec.limits.pages)
    line, over = ProgressLine(session), asyncio.Event()
    if job.started_at:
        # The first rate counts from where this run began.
        meter.line(await home.frontier.figures(job.id))
        meter.saved_items = stored_figures(home.store, job.id).items
    else:
        meter.line(Figures())

    def note_result(result: RequestResult) -> None:
        if isinstance(result.record, PageRecord | Drop):
            meter.saved_items += len(result.record.items)
        if result.failed:
            meter.errors[failure_name(*result.failed)] += 1
        if session.verbose:
            line.print_above(request_line(result))
        if stream is not None:
            stream.add(result)

    beside = [asyncio.create_task(_draw(session, home, crawl, meter, line, over))]
    if stream is not None:
        beside.append(asyncio.create_task(stream.run(over)))
    with _stopped_by_signals(session, crawl, line):
        try:
            return await crawl.run(note_result)
        finally:
            over.set()
            await asyncio.gather(*beside)
            line.clear()


async def _draw(
    session: Session, home: Home, crawl: Crawl, meter: ProgressMeter, line: ProgressLine, over: asyncio.Event
) -> None:
    every_s = JSON_EVERY_S if session.json else line.every_s
    while not await until(over, every_s):
        # Before the figures: the page of each of these items is among them.
        meter.items = meter.saved_items
        try:
            figures = await home.frontier.figures(crawl.job_id)
        except FrontierLost:
            # The frontier gets the job only after its browser has started, which may take seconds. If the job is
            # lost later, the engine reports it.
            if not session.json:
                line.draw(f"{meter.name} starting")
            continue
        if crawl.drains and not session.json:
            line.draw(f"{meter.name} {plural(figures.pages, 'page')}, {safe(crawl.drains)}")
            continue
        if session.json:
            waiting = crawl.drains or crawl.engine.waiting_for or crawl.note
            # A full disk under stdout must not stop the crawl, which may itself be waiting for disk space.
            with suppress(OSError):
                session.data(progress_record(crawl.job_id, figures, meter.items, waiting))
            continue
        if crawl.engine.waiting_for:
            # Without rate and ETA, which mean nothing now and would push the reason off the line.
            line.draw(f"{meter.name} {plural(figures.pages, 'page')}, waiting: {safe(crawl.engine.waiting_for)}")
            continue
        waiting = crawl.note
        if not waiting and not figures.leased:
            waiting = await home.frontier.wait_reason(crawl.job_id)
        paused = await home.frontier.idle_reason(crawl.job_id) == "paused"
        line.draw(meter.line(figures, "paused" if paused else waiting_note(waiting)))


@contextmanager
def _stopped_by_signals(session: Session, crawl: Crawl, line: ProgressLine) -> Iterator[None]:
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            line.interrupt()
            session.say(f"stopped at once; resume: {session.command('resume', crawl.job_id)}")
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(EXIT_INTERRUPTED)
        stopping = True
        line.interrupt()
        session.say(
            f"stopping: finishing {plural(crawl.engine.in_flight, 'request')} in flight; Ctrl-C again to stop at once"
        )
        crawl.engine.stop()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    try:
        yield
    finally:
        # The loop no longer runs while the report is made: signals would be lost.
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(name)
