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


def test_a_lost_frontier_is_rebuilt_with_its_pending_requests(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    fleet.begin(job)
    fleet.redis.client.flushall()
    assert fleet.figures(job)["queued"] == 0
    ran = fleet("rebuild", job)
    assert ran.code == 0 and f"job {job} is restored: 3 requests found, 3 of them pending" in ran.err
    assert fleet.figures(job)["queued"] == 3


def test_rebuilding_a_complete_frontier_changes_nothing(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    fleet.begin(job)
    held = fleet.lease()
    assert held and fleet("rebuild", job, "--json").lines == [{"job": job, "found": 3, "queued": 2, "pages": 0}]
    assert fleet.figures(job)["leased"] == len(held)


def test_a_job_without_a_frontier_is_refused_with_the_reason(fleet: FleetShell) -> None:
    job = fleet.submit(*URLS)
    ran = fleet("rebuild", job)
    assert ran.code == 2 and "still starting" in ran.err
    fleet.begin(job)
    fleet.end(job, JobState.CANCELLED)
    ran = fleet("rebuild", job)
    assert ran.code == 2 and f"job {job} is cancelled" in ran.err


def test_rebuild_next_to_workers_and_tend_fetches_no_stored_page_again(tmp_path: Path, site: Site) -> None:
    with Running(tmp_path, processes=1) as fleet:
        job = fleet.submit(site.url(), "--rate", "40")
        fleet.until_pages(job, 10)
        stored = {page["url"] for page in fleet("pages", job, "--json").lines}
        asked = len(site.log())
        fleet.redis.client.flushdb()
        ran = fleet("rebuild", job)
        assert ran.code == 0, ran.err
        figures = fleet.until_ended(job)
        assert figures["state"] == "done" and figures["found"] == figures["pages"] + figures["redirects"], figures
        # What was in flight when Redis lost it is fetched once more, and what was not yet stored.
        assert len(stored) >= 10 and not stored & {site.url(visit.path) for visit in site.log()[asked:]}
