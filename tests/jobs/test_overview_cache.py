"""People who look at a big job need not wait until its rows are counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.embedded.home import Home
from shoal.jobs.deployment import JobStatus
from shoal.jobs.overview_cache import COUNTED_EVERY_S, TOO_OLD, OverviewCache
from shoal.model import Figures, JobState
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import Job, load_job
from tests.cli.crawling import until
from tests.store.make import job_with, page


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path / "home") as home:
        job_with(home.store)
        save(home.store, Batch("j1", pages=[page(1), page(2)]))
        yield home


class Counted:
    """Counts in the background end when the test says so."""

    def __init__(self, home: Home) -> None:
        self.may_end = threading.Event()
        self.background = ThreadPoolExecutor(1)
        self.cache = OverviewCache(lambda: home, self._status, self.background)
        self._here = threading.current_thread()

    def _status(self, job: Job) -> JobStatus:
        if threading.current_thread() is not self._here:
            assert self.may_end.wait(60)
        return JobStatus(job, JobState.RUNNING, Figures(found=5, queued=3, pages=2), None)


def test_a_count_that_takes_long_is_not_waited_for(home: Home) -> None:
    counted, job = Counted(home), load_job(home.store, "j1")
    soon = counted.cache.soon(job)
    assert (soon.is_counting, soon.frontier.pages, soon.frontier.queued, soon.stored.hosts) == (True, 2, 3, 0)
    assert soon.stored.by_status == {"200": 2}, "the series has it"
    counted.may_end.set()
    until(lambda: not counted.cache.soon(job).is_counting)
    assert counted.cache.soon(job).stored.hosts == 1


def test_a_program_waits_for_the_count(home: Home) -> None:
    seen = Counted(home).cache.of(load_job(home.store, "j1"))
    assert (seen.is_counting, seen.stored.hosts) == (False, 1)


def test_a_count_is_made_again_when_it_is_too_old(home: Home) -> None:
    now, job = [100.0], load_job(home.store, "j1")
    status = JobStatus(job, JobState.RUNNING, Figures(), None)
    cache = OverviewCache(lambda: home, lambda _: status, ThreadPoolExecutor(1), lambda: now[0])
    assert cache.of(job).stored.pages == 2
    save(home.store, Batch("j1", pages=[page(3)]))
    assert cache.of(job).stored.pages == 2, "for a moment"
    now[0] += TOO_OLD * COUNTED_EVERY_S + 0.1
    assert cache.of(job).stored.pages == 3
