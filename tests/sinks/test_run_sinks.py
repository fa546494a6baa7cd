"""Sinks that are fed beside a crawl."""

from __future__ import annotations

import threading
from pathlib import Path

from shoal.sinks import THREADS
from shoal.sinks.run_sinks import JobSinks
from shoal.store.jobs import load_job
from shoal.store.store import Store
from tests.sinks.feeding import book, job_with_sink, rows_of, save_page, titles
from tests.store.make import JOB


async def test_no_thread_is_left_when_all_is_delivered(store: Store, tmp_path: Path) -> None:
    """The command would take it for one that the spider left, and end its process around it."""
    url = f"sqlite:///{tmp_path / 'items.db'}?table=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    sinks = JobSinks(store, load_job(store, JOB), {})
    sinks.start()
    sinks.end()
    assert await sinks.ended(60.0)
    await sinks.stop()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith(THREADS)] == []
    assert titles(rows_of(url, "books")) == ["a"]
