"""Handing a job over: it is there whole or not at all, and nothing is offered by whoever hands it over."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.fleet.fleet import BELL, Fleet
from shoal.fleet.submit import Submitted, submit_request
from shoal.model import Requester, ScopeKind
from shoal.settings import Settings
from shoal.store.crawl.inputs import seed_targets
from shoal.store.jobs import Job, list_jobs
from tests.cli.conftest import Here
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.frontier.redis_server import free_port

SPIDER = """
from shoal import Page, spider

@spider("https://example.com/", rate=5)
def books(page: Page):
    yield {"title": page.url}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path) as shell:
        yield shell


def jobs(fleet: FleetShell) -> list[Job]:
    async def look(opened: Fleet) -> list[Job]:
        return list_jobs(opened.store, 10)

    return fleet.by_hand(look)


def test_a_list_is_stored_and_its_id_printed_alone(fleet: FleetShell) -> None:
    Path(fleet.folder, "urls.txt").write_text(
        "https://example.com/a\nhttps://example.com/b\nmailto:x@y\nexample.com/a\n"
    )
    ran = fleet("submit", "@urls.txt", "--lane", "express")
    (job,) = jobs(fleet)
    assert (ran.code, ran.out) == (0, f"{job.id}\n")
    assert f"shoal watch {job.id}" in ran.err and "scope listed: 2 URLs" in ran.err
    assert "line 3" in ran.err and "2 URLs, 1 duplicate, 1 rejected" in ran.err
    assert job.fleet and not job.seeded and job.spec.scope is ScopeKind.LISTED and job.spec.lane == "express"
    assert fleet("submit", "@urls.txt", "--json").lines[0].keys() == {"id", "accepted", "duplicates", "rejected"}


def test_submit_wakes_tend_and_offers_nothing(fleet: FleetShell) -> None:
    listening = fleet.redis.client.pubsub()
    listening.subscribe(BELL)
    assert listening.get_message(timeout=60)["type"] == "subscribe"
    job = fleet.submit("https://example.com/")
    assert listening.get_message(timeout=60)["type"] == "message"
    listening.close()
    assert fleet.figures(job)["found"] == 0 and fleet.lease() == []


def test_without_a_fleet_it_says_how_to_start_one(tmp_path: Path) -> None:
    ran = Here(tmp_path)("submit", "https://example.com/")
    assert (ran.code, "shoal up" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", ["Redis", "database"])
def test_a_server_that_is_away_ends_it_at_once_and_nothing_is_stored(fleet: FleetShell, server: str) -> None:
    port = free_port()
    away = {
        "Redis": {"SHOAL_REDIS_URL": f"redis://127.0.0.1:{port}/0"},
        "database": {"SHOAL_DATABASE_URL": f"postgresql://shoal@127.0.0.1:{port}/shoal"},
    }
    began = time.monotonic()
    ran = fleet("submit", "https://example.com/", env=away[server])
    assert (ran.code, f"127.0.0.1:{port}" in ran.err) == (5, True), ran.err
    assert time.monotonic() - began < 10, "a worker would have that much patience"
    assert jobs(fleet) == []


def test_an_invalid_submit_leaves_no_job(fleet: FleetShell) -> None:
    Path(fleet.folder, "urls.txt").write_text("https://example.com/a\nmailto:x@y\n")
    Path(fleet.folder, "broken.py").write_text("import nowhere_to_be_found\n")
    for words in (["@urls.txt", "--strict"], ["broken.py"], ["https://example.com", "--include", "re:("], ["ftp://x"]):
        assert fleet("submit", *words).code == 2
    assert jobs(fleet) == []


def test_a_spider_in_a_file_is_named_by_its_whole_path(fleet: FleetShell) -> None:
    path = Path(fleet.folder, "shop.py")
    path.write_text(SPIDER)
    fleet.submit("shop.py")
    (job,) = jobs(fleet)
    assert job.spec.spider == f"{path}:books" and job.spec.politeness.rate == 5


def test_a_dry_run_submits_nothing(fleet: FleetShell) -> None:
    ran = fleet("submit", "https://example.com/", "--ignore-robots", "--dry-run")
    assert ran.code == 0 and "1 URL of 1 host" in ran.out
    assert not fleet.home.exists()


def test_a_program_submits_plain_data(fleet: FleetShell) -> None:
    rules = {"name": "books", "start": ["https://example.com/"], "items": [{"fields": {"title": "h1"}}]}
    options = {"rate": 4, "include": ["*/books/*"], "lane": "express", "max_pages": 10}
    submitted = asked(fleet, ["https://example.com/b", "@/etc/hosts", "mailto:x@y"], rules=rules, options=options)
    (job,) = jobs(fleet)
    assert (submitted.id, submitted.accepted, submitted.rejected) == (job.id, 2, 2)
    assert (job.spec.name, job.spec.limits.pages, job.spec.include) == ("books", 10, ("*/books/*",))
    assert json.loads(job.spec.rules or "")["items"] and job.fleet

    async def seeds(opened: Fleet) -> list[str]:
        return [seed.spelt for seed in seed_targets(opened.store, job.id, -1, 10)]

    assert fleet.by_hand(seeds) == ["https://example.com/b", "https://example.com/"]


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"options": {"rate": "fast"}}, "rate"),
        ({"options": {"colour": 1}}, "colour"),
        ({"options": {"lane": "fast"}}, "lane"),
        ({"spider": "os.path:join"}, "SHOAL_SPIDERS"),
        ({"spider": "/tmp/shop.py:books"}, "SHOAL_SPIDERS"),
        ({"rules": {"start": []}, "spider": "shop.books:books"}, "not both"),
    ],
)
def test_an_invalid_submit_of_a_program_names_the_error(fleet: FleetShell, about: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(fleet, ["https://example.com/"], **about)
    assert jobs(fleet) == []


def test_no_url_of_a_program_is_fetchable(fleet: FleetShell) -> None:
    for urls in ([], ["mailto:x@y"]):
        with pytest.raises(UsageError):
            asked(fleet, urls)
    assert jobs(fleet) == []


def asked(
    fleet: FleetShell,
    urls: list[str],
    rules: dict[str, Any] | None = None,
    spider: str | None = None,
    options: dict[str, Any] | None = None,
) -> Submitted:
    async def act(opened: Fleet) -> Submitted:
        return await submit_request(opened, urls, rules, spider, options or {}, by=Requester.OPERATOR)

    return fleet.by_hand(act)


def test_a_spider_of_a_listed_module_is_taken(fleet: FleetShell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(fleet.folder, "shops")
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "books.py").write_text(SPIDER)
    monkeypatch.syspath_prepend(str(fleet.folder))

    async def act() -> None:
        opened = Fleet(Settings(fleet.home, redis_url=fleet.redis.url, spiders=("shops.books",)))
        try:
            await submit_request(opened, [], None, "shops.books:books", {}, by=Requester.OPERATOR)
        finally:
            await opened.close()

    asyncio.run(act())
    (job,) = jobs(fleet)
    assert job.spec.spider == "shops.books:books"
