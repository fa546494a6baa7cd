"""Runs spiders from Python: `books.run()` and `books.stream()`, in any home."""

from __future__ import annotations

import asyncio
import io
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from shoal import settings
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.embedded.notebook_progress import showing_progress
from shoal.embedded.report import Report
from shoal.engine.request_result import RequestResult
from shoal.errors import UsageError
from shoal.jobs.job_id import new_job_id
from shoal.model import Drop, JobSpec, JobState, PageRecord
from shoal.model.options import OPTIONS, check_options, to_fields
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.check_callback_names import check_callback_names
from shoal.spiders.input_sources import read_sources
from shoal.spiders.run_event_loop import run_in_new_loop
from shoal.spiders.spider import Spider
from shoal.store.jobs import create_job, find_job
from shoal.urls.exclusions import read_exclusions

CONCURRENCY = 64
AHEAD = 1_000
"""How many items a stream buffers for a reader that is slower than the crawl."""
_OVER = object()


class RunOptions(NamedTuple):
    """How `run` and `stream` treat the job, beside its own options."""

    options: Mapping[str, Any]
    resume: str | None = None
    """The id or name of a job to continue."""
    progress: bool | None = None
    """None: in a notebook only."""


def run(spider: Spider, home: str | Path | None, wanted: RunOptions) -> Report:
    """Also inside a running event loop, as in a notebook: then in a thread, which ends before this returns."""
    if not _loop_runs():
        return _run(spider, home, wanted, [])
    # Connections belong to the thread that opens them, so all of it happens there.
    running: list[tuple[asyncio.AbstractEventLoop, Crawl]] = []
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(_run, spider, home, wanted, running)
        try:
            return result.result()
        except KeyboardInterrupt:
            # The notebook's stop button: what is in flight is finished and saved.
            for loop, crawl in running:
                loop.call_soon_threadsafe(crawl.engine.stop)
            return result.result()


def _run(
    spider: Spider, home: str | Path | None, wanted: RunOptions, running: list[tuple[asyncio.AbstractEventLoop, Crawl]]
) -> Report:
    chosen = _settings(home)
    with Home(chosen.home, chosen.archive_url, chosen.spool_bytes) as opened:
        crawl = _crawl(spider, opened, chosen, wanted)

        async def main() -> Report:
            running.append((asyncio.get_running_loop(), crawl))
            async with showing_progress(opened, crawl, wanted.progress):
                return await crawl.run()

        with opened.lock_of(crawl.job_id).held():
            return run_in_new_loop(main())


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def stream(spider: Spider, home: str | Path | None, wanted: RunOptions) -> Iterator[dict[str, Any]]:
    """Runs the crawl in a thread, and stops it if the caller stops reading."""
    found: queue.Queue[Any] = queue.Queue(AHEAD)
    abandoned = threading.Event()
    thread = threading.Thread(target=_crawl_into, args=(found, abandoned, spider, home, wanted), daemon=True)
    thread.start()
    try:
        while (item := found.get()) is not _OVER:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        abandoned.set()
        thread.join()


def _crawl_into(
    found: queue.Queue[Any],
    abandoned: threading.Event,
    spider: Spider,
    home: str | Path | None,
    wanted: RunOptions,
) -> None:
    def give(item: Any) -> None:
        while not abandoned.is_set():
            try:
                return found.put(item, timeout=0.1)
            except queue.Full:
                continue

    try:
        chosen = _settings(home)
        with Home(chosen.home, chosen.archive_url, chosen.spool_bytes) as opened:
            crawl = _crawl(spider, opened, chosen, wanted)

            def give_items(result: RequestResult) -> None:
                if isinstance(result.record, PageRecord | Drop):
                    for item in result.record.items:
                        give(item.data)
                if abandoned.is_set():
                    crawl.engine.stop()

            async def main() -> None:
                async with showing_progress(opened, crawl, wanted.progress):
                    await crawl.run(give_items)

            with opened.lock_of(crawl.job_id).held():
                run_in_new_loop(main())
    except BaseException as error:
        # Raised again where the stream is read: nobody catches an exception of this thread.
        give(error)
    give(_OVER)


def _settings(home: str | Path | None) -> settings.Settings:
    flags = {"home": str(home) if home is not None else None}
    return settings.load(flags, os.environ, Path.cwd(), settings.user_config_file(os.environ))


def _crawl(spider: Spider, home: Home, chosen: settings.Settings, wanted: RunOptions) -> Crawl:
    check_callback_names(spider)
    exclusions = read_exclusions(chosen.exclusions)
    home.check()
    create = _resumed if wanted.resume is not None else _created
    job_id, ready = create(spider, home, chosen, wanted)
    return Crawl(home, job_id, CONCURRENCY, exclusions, ready, chosen.secrets, chosen.browser, chosen.proxies)


def _resumed(spider: Spider, home: Home, _: settings.Settings, wanted: RunOptions) -> tuple[str, Spider]:
    assert wanted.resume is not None
    given = {name: value for name, value in wanted.options.items() if value not in (None, ())}
    check_options(given)
    if kept := [name for name in given if not OPTIONS[name].can_change]:
        raise UsageError(f"a job that is resumed keeps some of its options: leave {', '.join(kept)} out")
    job = find_job(home.store, wanted.resume)
    if job.state is JobState.LIMITED and not given:
        raise UsageError(
            f"job {job.id} is limited ({job.reason}): give a higher limit, such as max_pages, to continue it"
        )
    was_limited = job.state is JobState.LIMITED and not job.fleet
    if job.fleet or (home.has_ended(job) and not was_limited):
        raise UsageError(f"job {job.id} is {job.state}{' and of a fleet' * job.fleet}: there is nothing to resume here")
    if given:
        asyncio.run(home.change(job, to_fields(given)))
    return job.id, spider


def _created(spider: Spider, home: Home, chosen: settings.Settings, wanted: RunOptions) -> tuple[str, Spider]:
    if not spider.urls:
        raise UsageError(f"the spider {spider.name} has no start URL: @spider(URL, ...)")
    draft = JobDraft.of(wanted.options, spider, chosen.allow_private)
    assert draft.spider is not None
    sources = read_sources(draft.spider.urls, draft.params, draft.group, None, io.BytesIO())
    spec = draft.spec(sources, None)
    job_id = new_job_id()
    if spec.sinks:
        from shoal.sinks.check_sinks import check_sinks

        check_sinks(job_id, spec, chosen.secrets, draft.spider)

    def spec_once_read() -> JobSpec:
        return replace(spec, credentials=sources.credentials, agent=chosen.user_agent)

    create_job(home.store, job_id, spec_once_read, sources.inputs, time.time())
    return job_id, spider
