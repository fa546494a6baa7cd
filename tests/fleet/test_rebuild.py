"""`shoal rebuild`: the frontier of a job made anew by hand, beside whoever works on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.model import JobState
from shoal.practice import Running as Site
from shoal.practice import Shop, running
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.fleet.running import Running

URLS = [f"https://example.com/{n}" for n in range(3)]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path) as shell:
        yield shell


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    shop = Shop(hosts=1, categories=2, products=40, troubled=False)
    with running(shop, log=tmp_path / "site.log") as site:
        yield site


def test_a_lost_frontier_is_there_again_with_what_was_pending(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    fleet.begin(job)
    fleet.redis.client.flushall()
    assert fleet.figures(job)["queued"] == 0
    ran = fleet("rebuild", job)
    assert ran.code == 0 and f"job {job} is restored: 3 found, 3 of them still to do" in ran.err
    assert fleet.figures(job)["queued"] == 3


def test_one_that_is_whole_stays_as_it_is(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    fleet.begin(job)
    held = fleet.lease()
    assert held and fleet("rebuild", job, "--json").lines == [{"job": job, "found": 3, "queued": 2, "pages": 0}]
    assert fleet.figures(job)["leased"] == len(held)


def test_a_job_without_a_frontier_is_refused_with_the_reason(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    ran = fleet("rebuild", job)
    assert ran.code == 2 and "tend sees to that" in ran.err
    fleet.begin(job)
    fleet.end(job, JobState.CANCELLED)
    ran = fleet("rebuild", job)
    assert ran.code == 2 and f"job {job} is cancelled" in ran.err


def test_beside_workers_and_tend_after_a_wipe_nothing_stored_is_fetched_again(tmp_path: Path, site: Site) -> None:
    with Running(tmp_path, processes=1) as fleet:
        job = fleet.submit(site.url(), "--rate", "40")
        fleet.until_pages(job, 10)
        fleet.redis.client.flushdb()
        assert fleet("rebuild", job).code == 0
        figures = fleet.until_ended(job)
        assert figures["state"] == "done" and figures["found"] == figures["pages"] + figures["redirects"]
        visits = [visit.path for visit in site.log()]
        # What was in flight when Redis lost it is fetched once more.
        assert len(visits) - len(set(visits)) <= 4
