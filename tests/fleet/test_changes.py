"""What an operator changes while a fleet crawls, by the figures of the job and the site's own log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from shoal.fleet.changes import change_job
from shoal.fleet.exclusions import exclude
from shoal.fleet.place import Fleet
from shoal.jobs.hosts import override
from shoal.model import JobSpec, ScopeKind
from shoal.practice import Running as Site
from shoal.practice import Shop, running
from shoal.store.jobs import Job, change_spec, load_job
from shoal.store.tables import drops
from tests.fleet.running import Running

SHOP = Shop(hosts=1, categories=3, products=60, troubled=False)
FEW = 10
SLOW = 8


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("fleet"), processes=1, env={"SHOAL_CONCURRENCY": "2"}) as fleet:
        yield fleet


@pytest.fixture
def site() -> Iterator[Site]:
    with running(SHOP) as site:
        yield site


def begun(fleet: Running, site: Site) -> str:
    """A slow job of which some pages have come, and many are queued."""
    job = fleet.submit(site.url(), "--rate", str(SLOW), "--allow-private")
    fleet.until_pages(job, FEW)
    return job


def change(fleet: Running, job: str, **values: object) -> None:
    async def act(opened: Fleet) -> Job | None:
        return await change_job(opened, job, lambda spec: replace(spec, **values), None)  # type: ignore[arg-type]

    assert fleet.by_hand(act) is not None


def assert_balanced(figures: dict[str, object]) -> None:
    parts = ("queued", "leased", "pages", "redirects", "dead")
    dropped = figures["dropped"]
    assert isinstance(dropped, dict)
    assert figures["found"] == sum(int(str(figures[name])) for name in parts) + sum(dropped.values())


def test_what_a_new_pattern_excludes_is_dropped_from_the_queue_and_the_rest_is_fetched(
    fleet: Running, site: Site
) -> None:
    job = begun(fleet, site)
    spec = load_spec(fleet, job)
    change(fleet, job, exclude=("*product*",), politeness=replace(spec.politeness, rate=0))
    figures = fleet.until_ended(job)
    assert figures["state"] == "done" and figures["dropped"]["excluded"] > 0
    assert set(figures["dropped"]) == {"excluded"}
    assert_balanced(figures)
    # What was leased before the change was fetched.
    fetched = sum("product" in entry.path for entry in site.log())
    assert fetched < figures["dropped"]["excluded"]


def test_what_a_narrower_scope_does_not_cover_is_dropped_from_the_queue(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)
    change(fleet, job, scope=ScopeKind.LISTED)
    figures = fleet.until_ended(job)
    assert figures["state"] == "done" and set(figures["dropped"]) == {"off_scope"}
    assert_balanced(figures)
    fetched = [entry.path for entry in site.log()]
    assert len(fetched) < SHOP.products and len(fetched) <= figures["pages"] + 1, "one is robots.txt"
    explained = fleet("explain", job, dropped_url(fleet, job))
    assert "scope was changed" in explained.out, explained.out + explained.err


def test_a_wider_scope_counts_for_links_that_are_found_from_then_on(fleet: Running, site: Site) -> None:
    seeds = [site.url(f"/?n={number}") for number in range(3 * FEW)]
    job = fleet.submit(*seeds, "--scope", "listed", "--rate", str(SLOW), "--allow-private")
    fleet.until_pages(job, FEW)
    spec = load_spec(fleet, job)
    change(fleet, job, scope=ScopeKind.HOST, politeness=replace(spec.politeness, rate=0))
    assert fleet.until_ended(job)["pages"] > len(seeds) + SHOP.products


def test_the_fleets_exclusions_hold_for_jobs_that_run_and_for_new_ones(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)
    host = site.url().split("/")[2]
    try:
        fleet.by_hand(lambda opened: exclude(opened, [host]))
        figures = fleet.until_ended(job)
        assert figures["dropped"]["operator"] > 0
        assert_balanced(figures)
        refused = fleet.submit(site.url("/other.html"), "--rate", "0", "--allow-private")
        assert fleet.until_ended(refused)["dropped"] == {"operator": 1}
    finally:
        fleet.by_hand(lambda opened: exclude(opened, []))


def test_tend_tells_the_frontier_of_a_change_whose_maker_died(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)

    async def store_only(opened: Fleet) -> None:
        change_spec(opened.store, job, lambda spec: spec.with_limits({"pages": FEW + 5}), None, time.time())

    fleet.by_hand(store_only)
    figures = fleet.until_ended(job)
    assert figures["state"] == "limited" and figures["pages"] < SHOP.products


def test_a_limited_job_goes_on_with_a_higher_limit_and_fetches_nothing_twice(fleet: Running, site: Site) -> None:
    job = fleet.submit(site.url(), "--rate", "0", "--allow-private", "--max-pages", str(FEW))
    assert fleet.until_ended(job)["pages"] == FEW
    refused = fleet("resume", job)
    assert refused.code == 2 and f"shoal resume {job} --max-pages N" in refused.err
    assert fleet("resume", job, "--max-pages", str(FEW + 5)).code == 0
    figures = fleet.until_ended(job)
    assert (figures["state"], figures["pages"]) == ("limited", FEW + 5)
    asked = [entry.path for entry in site.log()]
    assert len(asked) == len(set(asked))


def test_a_word_on_a_host_outlives_a_redis_that_is_wiped(tmp_path: Path, site: Site) -> None:
    with Running(tmp_path, workers=0) as fleet:
        job = fleet.submit(site.url())
        fleet.until(lambda: fleet.standing(job).figures.queued == 1)
        host = site.url().split("/")[2]
        fleet.by_hand(lambda opened: override(opened, host, {"rate": 0.5, "paused": True}))
        fleet.redis.client.flushall()
        (state,) = fleet.until(
            lambda: [one for one in fleet.by_hand(lambda opened: opened.frontier.hosts()) if one.paused]
        )
        assert (state.name, state.rate) == (host, 0.5)


def dropped_url(fleet: Running, job: str) -> str:
    async def act(opened: Fleet) -> str:
        with opened.store.read() as db:
            return str(db.execute(select(drops.c.url).where(drops.c.job == job).limit(1)).scalar_one())

    return fleet.by_hand(act)


def load_spec(fleet: Running, job: str) -> JobSpec:
    async def act(opened: Fleet) -> JobSpec:
        return load_job(opened.store, job).spec

    return fleet.by_hand(act)
