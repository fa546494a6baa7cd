"""The list of jobs does not wait for rows that take long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.dashboard.home_source import HomeSource
from shoal.dashboard.job_rows import JobRows, health
from shoal.embedded.home import Home
from shoal.jobs.deployment import JobStatus
from shoal.model import JobState
from shoal.store.job_state import set_state
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store
from shoal.urls import Exclusions
from tests.cli.crawling import until
from tests.store.make import job_with


class SlowSource(HomeSource):
    """Knows a job's status when the test says so."""

    may_answer = threading.Event()

    def status(self, job: Job) -> JobStatus:
        assert self.may_answer.wait(60)
        return super().status(job)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SlowSource]:
    with Store.open(Home(tmp_path).path / "shoal.db") as store:
        job_with(store)
        set_state(store, "j1", JobState.DONE, 1_700_000_000.0)
    yield SlowSource("home", lambda: Home(tmp_path), Exclusions([]))


def test_a_row_that_takes_long_has_its_figures_at_a_later_look(source: SlowSource) -> None:
    rows, job = JobRows(source), load_job(source.store, "j1")
    (row,) = rows.read([job])
    assert (row.progress, row.status.state, row.mark) == (None, JobState.DONE, "✓")
    assert health([row], None) == "No job is running."
    source.may_answer.set()
    until(lambda: rows.read([job])[0].progress is not None)
