"""How a job went over time begins when the job began."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shoal.jobs.job_series import job_series
from shoal.model import JobState
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_state import set_state
from shoal.store.jobs import load_job
from shoal.store.results.time_series import record_series
from shoal.store.store import Store
from tests.store.make import JOB, job_with, page

START = 1_700_000_040
"""A full minute."""


def test_the_rate_of_the_first_minute_is_that_of_the_time_since_the_start(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
        set_state(store, JOB, JobState.RUNNING, START + 45.0)
        pages = [replace(page(n), fetched_at=START + 45.0 + n) for n in range(60)]
        save(store, Batch(JOB, pages=pages))
        record_series(store, JOB, now=START + 131, queue=0)
        set_state(store, JOB, JobState.DONE, START + 120.0)
        first, second = job_series(store, load_job(store, JOB))
    assert (first.at, first.seconds, first.pages_per_s) == (START + 45, 15, 1.0)
    assert (second.at, second.seconds, second.pages) == (START + 60, 60, 45)
