"""Sinks that are fed beside a crawl."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from shoal.sinks import THREADS
from shoal.sinks.run_sinks import JobSinks
from shoal.store.crawl.sink_state import sink_statuses
from shoal.store.jobs import load_job
from shoal.store.results.items import save_item_types
from shoal.store.store import Store
from tests.sinks.feeding import BOOK, book, job_with_sink, rows_of, save_page, titles
from tests.store.make import JOB, job_with

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


ODD_SINK = """
class Odd:
    def __str__(self): raise ZeroDivisionError("what nobody foresaw")

class Sink:
    def deliver(self, items, removed): return {item["_id"]: Odd() for item in items}
    def close(self): raise RuntimeError("not even closing works")

class Leaves(Sink):
    def deliver(self, items, removed): raise SystemExit("enough")
"""


@pytest.mark.parametrize(
    ("name", "words"), [("Sink", "ZeroDivisionError: what nobody foresaw"), ("Leaves", "SystemExit: enough")]
)
async def test_an_exception_that_nobody_foresaw_is_said_at_once_and_stops_only_its_sink(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    (tmp_path / "odd_sink.py").write_text(ODD_SINK)
    monkeypatch.syspath_prepend(tmp_path)
    url = f"sqlite:///{tmp_path / 'items.db'}?table=books"
    job_with(store, sinks=(f"odd_sink:{name}", url))
    save_item_types(store, JOB, [BOOK])
    save_page(store, 1, 1, book("a"))
    sinks = JobSinks(store, load_job(store, JOB), {})
    sinks.start()
    deadline = time.monotonic() + 60.0
    while (fault := sink_statuses(store, JOB, time.time())[0].fault) is None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    assert words in fault
    save_page(store, 2, 2, book("b"))
    sinks.end()
    # The first waits for what may pass, and the crawl for it.
    assert await sinks.ended(60.0 if name == "Sink" else 0.0) == (name == "Sink")
    while sink_statuses(store, JOB, time.time())[1].behind:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await sinks.stop()
    assert titles(rows_of(url, "books")) == ["a", "b"]
    sinks.note_left()
    assert sinks.left is not None and words in sinks.left


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
