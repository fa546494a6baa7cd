"""Sinks that are fed beside a crawl."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from shoal.sinks import THREADS
from shoal.sinks.run_sinks import JobSinks
from shoal.store.jobs import load_job
from shoal.store.store import Store
from tests.sinks.feeding import book, job_with_sink, rows_of, save_page, titles
from tests.store.make import JOB

SLOW_SINK = """
import threading
made_in = [threading.current_thread().name]

class Sink:
    def __init__(self): made_in.append(threading.current_thread().name)
    def deliver(self, items, removed): pass
    def close(self): pass
"""


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


async def test_a_class_is_made_in_a_thread_of_the_sinks(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its module may take long to import, and its constructor may connect to something."""
    (tmp_path / "slow_sink.py").write_text(SLOW_SINK)
    monkeypatch.syspath_prepend(tmp_path)
    job_with_sink(store, "slow_sink:Sink")
    save_page(store, 1, 1, book("a"))
    sinks = JobSinks(store, load_job(store, JOB), {})
    sinks.start()
    sinks.end()
    assert await sinks.ended(60.0)
    await sinks.stop()
    assert all(name.startswith(THREADS) for name in __import__("slow_sink").made_in)
