from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.model import JobState
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.save_batch import Batch
from shoal.store.job_state import set_state
from shoal.store.jobs import load_job
from shoal.store.results.job_figures import stored_figures
from shoal.store.store import Store
from tests.store.make import JOB, job_with, page


@pytest.fixture
def async_store(store: Store) -> Iterator[AsyncStore]:
    job_with(store)
    made = AsyncStore(store)
    yield made
    made.close()


async def test_concurrent_saves_are_all_saved(async_store: AsyncStore) -> None:
    await asyncio.gather(*(async_store.save(Batch(JOB, pages=[page(n)])) for n in range(30)))
    assert (await async_store.run(stored_figures, JOB)).pages == 30


async def test_calls_run_in_order_in_one_other_thread(async_store: AsyncStore) -> None:
    seen: list[tuple[int, int]] = []

    def note(_store: Store, n: int) -> None:
        seen.append((n, threading.get_ident()))

    await asyncio.gather(*(async_store.run(note, n) for n in range(20)))
    assert [n for n, _ in seen] == list(range(20))
    assert len({thread for _, thread in seen} - {threading.get_ident()}) == 1


async def test_named_arguments_and_results_pass_through(async_store: AsyncStore) -> None:
    await async_store.run(set_state, JOB, JobState.FAILED, at=5.0, reason="broken")
    assert (await async_store.run(load_job, JOB)).reason == "broken"


async def test_errors_reach_the_caller_and_the_thread_continues(async_store: AsyncStore) -> None:
    with pytest.raises(UsageError):
        await async_store.run(load_job, "nobody")
    await async_store.save(Batch(JOB, pages=[page(1)]))


async def test_a_read_does_not_wait_for_slow_saves(async_store: AsyncStore, store: Store) -> None:
    with store.write() as db:
        store.lock_requests(db, JOB, [1])
        held_up = [asyncio.ensure_future(async_store.save(Batch(JOB, pages=[page(1)]))) for _ in range(3)]
        reads = await asyncio.wait_for(asyncio.gather(*(async_store.read(load_job, JOB) for _ in range(10))), 4)
        assert [job.id for job in reads] == [JOB] * 10
        assert not any(save.done() for save in held_up)
    await asyncio.gather(*held_up)
    assert (await async_store.read(stored_figures, JOB)).pages == 1


async def test_closing_waits_for_calls_in_progress(async_store: AsyncStore, store: Store) -> None:
    pending = asyncio.ensure_future(async_store.save(Batch(JOB, pages=[page(1)])))
    await asyncio.sleep(0)
    async_store.close()
    assert stored_figures(store, JOB).pages == 1
    await pending


async def test_a_small_save_waits_for_another_writer_in_the_thread(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
        async_store = AsyncStore(store)
        with store.write_plain():
            saving = asyncio.ensure_future(async_store.save(Batch(JOB, pages=[page(1)])))
            # The event loop goes on meanwhile.
            for _ in range(5):
                await asyncio.sleep(0)
            assert not saving.done()
        await saving
        assert stored_figures(store, JOB).pages == 1
        async_store.close()


async def test_a_small_save_needs_no_thread(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
        async_store = AsyncStore(store)
        # No other task gets a turn.
        with pytest.raises(StopIteration):
            async_store.save(Batch(JOB, pages=[page(1, content=None)])).send(None)
        assert stored_figures(store, JOB).pages == 1
        async_store.close()
