"""Spiders run from Python: `books.run()` and `books.stream()`, in a home of their own choosing."""

from __future__ import annotations

import asyncio
import io
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal import settings
from shoal.embedded.crawl import Crawl, Report
from shoal.embedded.home import Home
from shoal.engine.ending import Ending
from shoal.errors import UsageError
from shoal.jobs.job_id import new_job_id
from shoal.model import JobSpec, PageRecord
from shoal.spiders.sources import read_sources
from shoal.spiders.spider import Spider
from shoal.spiders.wish import Wish
from shoal.store.jobs import create_job
from shoal.urls.exclusions import read_exclusions

CONCURRENCY = 64
AHEAD = 1_000
"""Items a stream holds for a reader that is slower than the crawl."""
_OVER = object()


def run(spider: Spider, home: str | Path | None, options: Mapping[str, Any]) -> Report:
    chosen = _settings(home)
    with Home(chosen.home, chosen.archive_url) as opened:
        crawl = _crawl(spider, opened, chosen, options)
        with opened.lock.held(crawl.job_id):
            return asyncio.run(crawl.run())


def stream(spider: Spider, home: str | Path | None, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The crawl runs in a thread; whoever stops reading stops it."""
    found: queue.Queue[Any] = queue.Queue(AHEAD)
    abandoned = threading.Event()
    thread = threading.Thread(target=_crawl_into, args=(found, abandoned, spider, home, options), daemon=True)
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
    options: Mapping[str, Any],
) -> None:
    def give(item: Any) -> None:
        while not abandoned.is_set():
            try:
                return found.put(item, timeout=0.1)
            except queue.Full:
                continue

    try:
        chosen = _settings(home)
        with Home(chosen.home, chosen.archive_url) as opened:
            crawl = _crawl(spider, opened, chosen, options)

            def hand_over(end: Ending) -> None:
                if isinstance(end.record, PageRecord):
                    for item in end.record.items:
                        give(item.data)
                if abandoned.is_set():
                    crawl.engine.stop()

            crawl.engine.on_ending = hand_over
            with opened.lock.held(crawl.job_id):
                asyncio.run(crawl.run())
    except BaseException as error:
        # Raised again where the stream is read: a thread has nobody to tell.
        give(error)
    give(_OVER)


def _settings(home: str | Path | None) -> settings.Settings:
    flags = {"home": str(home) if home is not None else None}
    return settings.load(flags, os.environ, Path.cwd(), settings.user_config_file(os.environ))


def _crawl(spider: Spider, home: Home, chosen: settings.Settings, options: Mapping[str, Any]) -> Crawl:
    if not spider.urls:
        raise UsageError(f"the spider {spider.name} names no URL to start from: @spider(URL, ...)")
    wish = Wish.of(options, spider, chosen.allow_private)
    sources = read_sources(spider.urls, wish.params, wish.group, None, io.BytesIO())
    spec = wish.spec(sources, None)
    job_id = new_job_id()
    exclusions = read_exclusions(chosen.exclusions)

    def spec_once_read() -> JobSpec:
        return replace(spec, credentials=sources.credentials, agent=chosen.user_agent)

    home.check()
    create_job(home.store, job_id, spec_once_read, sources.inputs, time.time())
    return Crawl(home, job_id, CONCURRENCY, exclusions, spider)
