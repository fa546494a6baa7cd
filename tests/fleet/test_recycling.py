"""Celery's limits on a child and on a slice, at work: children make room for others, slices that last too long end.

Those of `fleet/celery_config.py` take minutes, so a worker here has an app with others.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice import Running as Site
from shoal.practice import Shop, running
from tests.fleet.running import Running

PER_HOST = 2
POLITE = ("--rate", "12", "--per-host", str(PER_HOST))
"""Some eight seconds for the whole shop."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    shop = Shop(hosts=1, categories=2, products=40, troubled=False)
    with running(shop, log=tmp_path / "site.log", latency_ms=20) as site:
        yield site


def manned(fleet: Running, **limits: int) -> None:
    """By one process with these limits."""
    (fleet.folder / "limited.py").write_text(f"from shoal.fleet.celery import app\n\napp.conf.update({limits})\n")
    fleet.start_celery_worker("-Q", "express,batch,slow", "--concurrency", "1", app="limited")
    fleet.until_manned(children=1)


def assert_whole(fleet: Running, job: str, site: Site, twice: int) -> None:
    """Everything was fetched, at most so many pages a second time."""
    figures = fleet.until_ended(job)
    assert figures["state"] == "done" and figures["found"] == figures["pages"] + figures["redirects"]
    visits = Counter(visit.path for visit in site.log())
    assert sum(visits.values()) - len(visits) <= twice, visits.most_common(twice + 1)


def test_a_child_at_its_slice_limit_is_replaced_and_releases_its_requests(tmp_path: Path, site: Site) -> None:
    # A lease that were not given back would come back long after the test.
    with Running(tmp_path, workers=0, env={"SHOAL_SLICE_S": "1", "SHOAL_LEASE_S": "300"}) as fleet:
        manned(fleet, worker_max_tasks_per_child=2)
        job = fleet.submit(site.url(), *POLITE)
        seen: set[int] = set()
        while len(seen) < 3:
            seen.update(fleet.until(lambda: set(fleet.children()) - seen))
        assert_whole(fleet, job, site, twice=0)
        assert "died" not in fleet.workers[0].said


def test_a_slice_over_its_time_limit_is_ended_and_its_process_continues(tmp_path: Path, site: Site) -> None:
    with Running(tmp_path, workers=0, env={"SHOAL_SLICE_S": "60"}) as fleet:
        manned(fleet, task_soft_time_limit=2, task_time_limit=30)
        before = fleet.children()
        job = fleet.submit(site.url(), *POLITE)
        fleet.until(lambda: fleet.workers[0].said.count("SoftTimeLimitExceeded") >= 2)
        assert_whole(fleet, job, site, twice=0)
        assert fleet.children() == before


def test_the_time_limit_of_a_slice_that_ended_during_an_outage_kills_no_process(tmp_path: Path, site: Site) -> None:
    with Running(tmp_path, workers=0, env={"SHOAL_SLICE_S": "2"}) as fleet:
        manned(fleet, task_soft_time_limit=3, task_time_limit=60)
        before = fleet.children()
        job = fleet.submit(site.url(), *POLITE)
        fleet.until_pages(job, 5)
        # Celery's main process is at a loss meanwhile, and looks at its clocks first when it is over.
        fleet.redis.kill()
        time.sleep(6)
        fleet.redis.start()
        assert_whole(fleet, job, site, twice=PER_HOST)
        assert fleet.children() == before
        assert "ime limit" not in fleet.workers[0].said


def test_a_process_that_does_not_end_its_slice_is_killed_and_its_requests_return(tmp_path: Path, site: Site) -> None:
    # Nobody else would notice it in time.
    env = {"SHOAL_SLICE_S": "60", "SHOAL_SILENT_S": "300", "SHOAL_LEASE_S": "300"}
    with Running(tmp_path, workers=0, env=env) as fleet:
        manned(fleet, task_soft_time_limit=4, task_time_limit=6)
        job = fleet.submit(site.url(), *POLITE)
        fleet.until_pages(job, 5)
        (child,) = fleet.children()
        os.kill(child, signal.SIGSTOP)
        fleet.until(lambda: f"process {child} died" in fleet.workers[0].said)
        assert_whole(fleet, job, site, twice=PER_HOST)
        assert child not in fleet.children()
