"""Tend's rounds of deliveries, with sinks that hang or fail in every way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from shoal.fleet.deliver_sinks import FleetSinks
from shoal.settings import Settings
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.sink_state import SinkStatus, sink_statuses
from shoal.store.results.items import save_item_types
from shoal.store.store import Store
from shoal.store.tables import jobs
from tests.sinks.feeding import BOOK, book, save_page
from tests.store.make import JOB, job_with

MODULE = "sinks_of_a_fleet"
SINKS = """
import threading
from shoal.errors import UsageError

may_close = threading.Event()
closes = []

class Keep:
    def deliver(self, items, removed): pass
    def close(self): closes.append("keep")

class Hangs(Keep):
    def close(self):
        closes.append("hangs")
        may_close.wait()

class Refuses(Keep):
    def close(self):
        closes.append("refuses")
        raise UsageError("it cannot be closed")
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "shoal.db") as opened:
        yield opened


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / f"{MODULE}.py").write_text(SINKS)
    monkeypatch.syspath_prepend(tmp_path)
    found = __import__(MODULE)
    found.closes.clear()
    yield found
    found.may_close.set()


@asynccontextmanager
async def delivering(store: Store, tmp_path: Path, *modules: str) -> AsyncIterator[FleetSinks]:
    async_store = AsyncStore(store)
    sinks = FleetSinks(Settings(home=tmp_path, spiders=modules), async_store)
    yield sinks
    await sinks.close()
    async_store.close()


def job_with_sinks(store: Store, *urls: str) -> None:
    job_with(store, sinks=urls, fleet=True)
    save_item_types(store, JOB, (BOOK,))


def statuses(store: Store) -> list[SinkStatus]:
    return sink_statuses(store, JOB, 1_700_000_000.0)


async def rounds_until(sinks: FleetSinks, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await sinks.deliver()
            await asyncio.sleep(0.01)


async def test_a_sink_that_hangs_or_fails_as_it_closes_holds_nothing_up(
    store: Store, tmp_path: Path, module: Any
) -> None:
    job_with_sinks(store, f"{MODULE}:Refuses", f"{MODULE}:Hangs", f"{MODULE}:Keep")
    async with delivering(store, tmp_path, MODULE) as sinks:
        for n in (1, 2):
            save_page(store, n, 1, book("a"))
            await rounds_until(sinks, lambda: all(one.behind == 0 for one in statuses(store)))
            await rounds_until(sinks, lambda: "hangs" in module.closes)
        module.may_close.set()
        await rounds_until(sinks, lambda: "refuses" in module.closes)


async def test_any_other_fault_is_noted_and_the_sink_waits(store: Store, tmp_path: Path) -> None:
    # Python's sockets raise a UnicodeError for such a name, not an OSError.
    job_with_sinks(store, "https://shop..test/items")
    save_page(store, 1, 1, book("a"))
    async with delivering(store, tmp_path) as sinks:
        await rounds_until(sinks, lambda: statuses(store)[0].fault is not None)
        assert "UnicodeError: " in (statuses(store)[0].fault or "")
        await rounds_until(sinks, lambda: not busy())
        await sinks.deliver()
        assert not busy(), "it is not tried again at once"


async def test_a_fault_that_the_job_cannot_show_is_logged(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job_with_sinks(store, f"{MODULE}:Keep")
    save_page(store, 1, 1, book("a"))
    with store.write() as db:
        db.execute(update(jobs).values(spec="unreadable"))
    async with delivering(store, tmp_path) as sinks:
        await rounds_until(sinks, lambda: "a turn of a sink failed" in caplog.text)
    assert "JSONDecodeError" in caplog.text


def busy() -> bool:
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
    return "FleetSinks._take_turn" in names


async def test_what_a_fleet_would_not_accept_is_not_delivered(store: Store, tmp_path: Path, module: Any) -> None:
    """The module may have left SHOAL_SPIDERS since the job was submitted."""
    job_with_sinks(store, f"{MODULE}:Keep")
    save_page(store, 1, 1, book("a"))
    async with delivering(store, tmp_path, "other") as sinks:
        await rounds_until(sinks, lambda: statuses(store)[0].fault is not None)
    assert "no module in SHOAL_SPIDERS (it has: other)" in (statuses(store)[0].fault or "")
    assert statuses(store)[0].behind == 1
