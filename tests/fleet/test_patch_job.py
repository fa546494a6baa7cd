"""What an operator changes while a fleet crawls, by the figures of the job and the site's own log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from shoal.fleet.effective_exclusions import exclude
from shoal.fleet.fleet import Fleet
from shoal.fleet.patch_job import change_job
from shoal.jobs.host_view import override
from shoal.model import JobSpec, ScopeKind
from shoal.practice import Running as Site
from shoal.practice import Shop, running
from shoal.store.job_changes import change_spec
from shoal.store.jobs import Job, load_job
from shoal.store.tables import drops
from tests.fleet.running import Running

SHOP = Shop(hosts=1, categories=3, products=60, troubled=False)
FEW = 6
SLOW = 5
"""So slow that a change comes long before the end."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("fleet"), processes=1, env={"SHOAL_CONCURRENCY": "2"}) as fleet:
        yield fleet


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(SHOP, log=tmp_path / "site.log") as site:
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


def test_a_new_exclude_pattern_drops_queued_urls_and_the_rest_is_fetched(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)
    spec = load_spec(fleet, job)
    change(fleet, job, exclude=("*product*",), politeness=replace(spec.politeness, rate=0))
    figures = fleet.until_ended(job)
    assert figures["state"] == "done" and figures["dropped"]["excluded"] > 0
    assert set(figures["dropped"]) == {"excluded"}
    assert_balanced(figures)
    assert_none_fetched(fleet, site, job)


def test_a_narrower_scope_drops_queued_urls(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)
    change(fleet, job, scope=ScopeKind.LISTED)
    figures = fleet.until_ended(job)
    assert figures["state"] == "done" and set(figures["dropped"]) == {"off_scope"}
    assert_balanced(figures)
    assert_none_fetched(fleet, site, job)
    explained = fleet("explain", job, min(dropped_urls(fleet, job)))
    assert "scope was changed" in explained.out, explained.out + explained.err


def test_a_wider_scope_applies_to_links_found_from_then_on(fleet: Running, site: Site) -> None:
    seeds = [site.url(f"/?n={number}") for number in range(5 * FEW)]
    job = fleet.submit(*seeds, "--scope", "listed", "--rate", str(SLOW), "--allow-private")
    fleet.until_pages(job, FEW)
    spec = load_spec(fleet, job)
    change(fleet, job, scope=ScopeKind.HOST, politeness=replace(spec.politeness, rate=0))
    assert fleet.until_ended(job)["pages"] > len(seeds) + SHOP.products


def test_fleet_exclusions_apply_to_running_and_new_jobs(fleet: Running, site: Site) -> None:
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


def test_tend_sends_a_change_whose_process_died(fleet: Running, site: Site) -> None:
    job = begun(fleet, site)

    async def store_only(opened: Fleet) -> None:
        change_spec(opened.store, job, lambda spec: spec.with_fields({"limits": {"pages": FEW + 5}}), None, time.time())

    fleet.by_hand(store_only)
    figures = fleet.until_ended(job)
    assert figures["state"] == "limited"


def test_a_limited_job_continues_with_a_higher_limit_and_fetches_nothing_twice(fleet: Running, site: Site) -> None:
    job = fleet.submit(site.url(), "--rate", "0", "--allow-private", "--max-pages", str(FEW))
    assert fleet.until_ended(job)["pages"] == FEW
    refused = fleet("resume", job)
    assert refused.code == 2 and f"shoal resume {job} --max-pages N" in refused.err
    assert fleet("resume", job, "--max-pages", str(FEW + 5)).code == 0
    figures = fleet.until_ended(job)
    assert (figures["state"], figures["pages"]) == ("limited", FEW + 5)
    asked = [entry.path for entry in site.log()]
    assert len(asked) == len(set(asked))


def test_a_host_override_survives_a_wiped_redis(tmp_path: Path, site: Site) -> None:
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


def dropped_urls(fleet: Running, job: str) -> set[str]:
    async def act(opened: Fleet) -> set[str]:
        with opened.store.read() as db:
            return set(db.scalars(select(drops.c.url).where(drops.c.job == job)))

    return fleet.by_hand(act)


def assert_none_fetched(fleet: Running, site: Site, job: str) -> None:
    """Of what was dropped; what was leased before the change was fetched."""
    assert not dropped_urls(fleet, job) & {site.url(entry.path) for entry in site.log()}


def load_spec(fleet: Running, job: str) -> JobSpec:
    async def act(opened: Fleet) -> JobSpec:
        return load_job(opened.store, job).spec

    return fleet.by_hand(act)
