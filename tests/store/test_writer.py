from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.model import JobState
from shoal.store.crawl.save_batch import Batch
from shoal.store.jobs import load_job, set_state
from shoal.store.results.job_figures import stored_figures
from shoal.store.store import Store
from shoal.store.writer import Writer
from tests.store.make import JOB, job_with, page


@pytest.fixture
def writer(store: Store) -> Iterator[Writer]:
    job_with(store)
    made = Writer(store)
    yield made
    made.close()


async def test_concurrent_saves_are_all_saved(writer: Writer) -> None:
    await asyncio.gather(*(writer.save(Batch(JOB, pages=[page(n)])) for n in range(30)))
    assert (await writer.run(stored_figures, JOB)).pages == 30


async def test_calls_run_in_order_in_one_other_thread(writer: Writer) -> None:
    seen: list[tuple[int, int]] = []

    def note(_store: Store, n: int) -> None:
        seen.append((n, threading.get_ident()))

    await asyncio.gather(*(writer.run(note, n) for n in range(20)))
    assert [n for n, _ in seen] == list(range(20))
    assert len({thread for _, thread in seen} - {threading.get_ident()}) == 1


async def test_named_arguments_and_results_pass_through(writer: Writer) -> None:
    await writer.run(set_state, JOB, JobState.FAILED, at=5.0, reason="broken")
    assert (await writer.run(load_job, JOB)).reason == "broken"


async def test_errors_reach_the_caller_and_the_thread_continues(writer: Writer) -> None:
    with pytest.raises(UsageError):
        await writer.run(load_job, "nobody")
    await writer.save(Batch(JOB, pages=[page(1)]))


async def test_a_read_does_not_wait_for_slow_saves(writer: Writer, store: Store) -> None:
    with store.write() as db:
        store.lock_requests(db, JOB, [1])
        held_up = [asyncio.ensure_future(writer.save(Batch(JOB, pages=[page(1)]))) for _ in range(3)]
        reads = await asyncio.wait_for(asyncio.gather(*(writer.read(load_job, JOB) for _ in range(10))), 4)
        assert [job.id for job in reads] == [JOB] * 10
        assert not any(save.done() for save in held_up)
    await asyncio.gather(*held_up)
    assert (await writer.read(stored_figures, JOB)).pages == 1


async def test_closing_waits_for_calls_in_progress(writer: Writer, store: Store) -> None:
    pending = asyncio.ensure_future(writer.save(Batch(JOB, pages=[page(1)])))
    await asyncio.sleep(0)
    writer.close()
    assert stored_figures(store, JOB).pages == 1
    await pending


async def test_a_small_save_waits_for_another_writer_in_the_thread(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
        writer = Writer(store)
        with store.write_plain():
            saving = asyncio.ensure_future(writer.save(Batch(JOB, pages=[page(1)])))
            # The event loop goes on meanwhile.
            for _ in range(5):
                await asyncio.sleep(0)
            assert not saving.done()
        await saving
        assert stored_figures(store, JOB).pages == 1
        writer.close()


async def test_a_small_save_needs_no_thread(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
        writer = Writer(store)
        # No other task gets a turn.
        with pytest.raises(StopIteration):
            writer.save(Batch(JOB, pages=[page(1, content=None)])).send(None)
        assert stored_figures(store, JOB).pages == 1
        writer.close()
