"""Addresses behind the guard: nobody reaches them over the API without an admin's word and the workers' own setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.model import JobSpec, Requester
from shoal.practice import Running as Site
from shoal.practice import running
from shoal.store.fleet.schedules import change_schedule, find_schedule
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import load_job
from tests.control.calling import Api, api_over, problem
from tests.control.live import SHOP, Live
from tests.fleet.by_hand import FleetShell
from tests.fleet.running import Running

URL = "https://example.com/"
SPIDERS = """
from shoal import spider

@spider("https://example.com/", allow_private=True)
def inside(page):
    yield {"title": page.css("h1::text").get()}

@spider("https://example.com/", header=("X-Key: secret",))
def keyed(page):
    yield {"title": page.css("h1::text").get()}

@spider("https://example.com/", header=("X-Key: secret",), max_pages=3)
def bounded(page):
    yield {"title": page.css("h1::text").get()}
"""


@pytest.fixture
def listed(fleet: FleetShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """An API whose operator lists spiders, allows private addresses and has submitters share their jobs."""
    package = Path(fleet.folder, "insiders")
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "spiders.py").write_text(SPIDERS)
    monkeypatch.syspath_prepend(str(fleet.folder))
    allowed = replace(fleet.settings, spiders=("insiders.spiders",), allow_private=True, shared_jobs=True)
    with api_over(allowed) as api:
        yield api


def submitted(api: Api, scope: TokenScope, /, **order: Any) -> JobSpec:
    made = api("POST", "/jobs", {"urls": [URL], **order}, scope)
    assert made.status_code == 201, made.text
    return load_job(api.bridge.store, made.get_json()["id"]).spec


def test_the_apis_own_setting_is_the_default_of_an_admins_jobs_and_of_nobody_elses(listed: Api) -> None:
    spec = submitted(listed, TokenScope.ADMIN)
    assert (spec.asked_by, spec.allow_private) == (Requester.ADMIN, True)
    assert not submitted(listed, TokenScope.ADMIN, allow_private=False).allow_private
    spec = submitted(listed, TokenScope.SUBMIT)
    assert (spec.asked_by, spec.allow_private) == (Requester.SUBMITTER, False)
    assert JobSpec.from_json(spec.to_json()) == spec


def test_without_it_an_admin_has_to_ask(api: Api) -> None:
    assert not submitted(api, TokenScope.ADMIN).allow_private
    assert submitted(api, TokenScope.ADMIN, allow_private=True).allow_private


def test_over_the_api_the_workers_setting_is_needed_too() -> None:
    spec = JobSpec("books", allow_private=True)
    assert spec.reaches_private(worker_allows=False)
    spec = replace(spec, asked_by=Requester.ADMIN)
    assert not spec.reaches_private(worker_allows=False) and spec.reaches_private(worker_allows=True)
    assert not JobSpec("books", asked_by=Requester.ADMIN).reaches_private(worker_allows=True)


def test_a_spider_is_no_way_around_for_a_submitter(listed: Api) -> None:
    inside = {"urls": [], "spider": "insiders.spiders:inside"}
    assert "allow_private" in problem(listed("POST", "/jobs", inside, TokenScope.SUBMIT), 403)["detail"]
    order = {"name": "news", "cron": "0 5 * * *", "job": inside}
    assert "allow_private" in problem(listed("POST", "/schedules", order, TokenScope.SUBMIT), 403)["detail"]
    assert submitted(listed, TokenScope.ADMIN, **inside).allow_private


def test_a_spiders_secrets_go_where_the_spider_leads_and_nowhere_else_for_a_submitter(listed: Api) -> None:
    keyed = {"urls": [], "spider": "insiders.spiders:keyed"}
    assert submitted(listed, TokenScope.SUBMIT, **keyed).headers == {"X-Key": "secret"}
    elsewhere: list[dict[str, Any]] = [{"urls": ["https://example.org/"]}, {"scope": "any"}, {"include": ["*"]}]
    for more in [*elsewhere, {"sitemaps": True}, {"allow_traps": ["calendar"]}]:
        told = problem(listed("POST", "/jobs", {**keyed, **more}, TokenScope.SUBMIT), 403)
        assert "headers" in told["detail"] and "secret" not in str(told)
        submitted(listed, TokenScope.ADMIN, **{**keyed, **more})


def test_a_spiders_secrets_go_as_far_as_the_spider_goes_for_a_submitter(listed: Api) -> None:
    bounded = {"urls": [], "spider": "insiders.spiders:bounded"}
    assert submitted(listed, TokenScope.SUBMIT, **bounded, limits={"pages": 2, "depth": 9}).limits.pages == 2
    further = {**bounded, "limits": {"pages": 4}}
    assert "headers" in problem(listed("POST", "/jobs", further, TokenScope.SUBMIT), 403)["detail"]
    order = {"name": "news", "cron": "0 5 * * *", "job": further}
    problem(listed("POST", "/schedules", order, TokenScope.SUBMIT), 403)
    assert submitted(listed, TokenScope.ADMIN, **further).limits.pages == 4


def test_an_admins_schedule_of_a_spider_with_secrets_is_an_admins(listed: Api) -> None:
    job = {"urls": [], "spider": "insiders.spiders:bounded", "limits": {"pages": 4}, "allow_private": False}
    order = {"name": "news", "cron": "0 5 * * *", "job": job}
    assert listed("POST", "/schedules", order).status_code == 201
    changes: list[tuple[str, str, Any]] = [
        ("PATCH", "", {"paused": True}),
        ("POST", "/run", None),
        ("DELETE", "", None),
    ]
    for method, path, body in changes:
        told = problem(listed(method, f"/schedules/news{path}", body, TokenScope.SUBMIT), 403)
        assert "headers" in told["detail"] and "secret" not in str(told)
    change_schedule(
        listed.bridge.store,
        listed.get("/schedules/news")["id"],
        lambda now: {"job": now.job.replace("bounded", "gone")},
    )
    problem(listed("DELETE", "/schedules/news", scope=TokenScope.SUBMIT), 403)
    assert listed("DELETE", "/schedules/news").status_code == 204
    own = {**order, "job": {"urls": [], "spider": "insiders.spiders:bounded"}}
    assert listed("POST", "/schedules", own, TokenScope.SUBMIT).status_code == 201
    for method, path, body in changes:
        assert listed(method, f"/schedules/news{path}", body, TokenScope.SUBMIT).status_code in (200, 202, 204)


def test_a_schedule_with_what_needs_an_admin_is_steered_by_an_admin_only(listed: Api) -> None:
    order = {"name": "news", "cron": "0 5 * * *", "job": {"urls": [URL]}}
    assert listed("POST", "/schedules", order).get_json()["job"]["options"]["allow_private"]
    for method, path, body in (("PATCH", "", {"cron": "* * * * *"}), ("POST", "/run", None)):
        problem(listed(method, f"/schedules/news{path}", body, TokenScope.SUBMIT), 403)
        assert listed(method, f"/schedules/news{path}", body).status_code in (200, 202)
    assert listed("DELETE", "/schedules/news").status_code == 204
    assert listed("POST", "/schedules", order, TokenScope.SUBMIT).status_code == 201
    assert listed("PATCH", "/schedules/news", {"cron": "0 6 * * *"}, TokenScope.SUBMIT).status_code == 200
    found = find_schedule(listed.bridge.store, "news")
    assert found is not None and '"by": "submitter"' in found.job and "allow_private" not in found.job


def test_workers_that_allow_it_do_so_for_admins_and_not_for_submitters(live: Live) -> None:
    """The setting is on in every process of this fleet."""
    admins = live.submit(live.page(9_001))
    assert live.fleet.until_ended(admins)["pages"] > 0
    submitter = replace(live, tokens=dict.fromkeys(TokenScope, live.tokens[TokenScope.SUBMIT]))
    orders: dict[str, dict[str, Any]] = {"/jobs": {"urls": [live.page(9_002)]}, "/scrape": {"url": live.page(9_003)}}
    for path, order in orders.items():
        id = submitter.call("POST", path, order)[1]["id"]
        figures = live.fleet.until_ended(id)
        assert figures["dropped"] == {"address_refused": 1}
        assert "allow_private of an admin" in figures["limiting"]
    asked = {live.site.url(entry.path) for entry in live.site.log()}
    assert live.page(9_001) in asked and not {live.page(9_002), live.page(9_003)} & asked


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(SHOP, log=tmp_path / "site.log") as site:
        yield site


def test_workers_that_do_not_allow_it_refuse_an_admin_and_say_how_to_change_that(tmp_path: Path, site: Site) -> None:
    with (
        Running(tmp_path, processes=1, env={"SHOAL_ALLOW_PRIVATE": "off"}) as fleet,
        api_over(replace(fleet.settings, allow_private=True)) as api,
    ):
        id = api.submit(site.url(), politeness={"rate": 0})
        fleet.until_ended(id)
        told = api.get(f"/jobs/{id}")
        assert (told["state"], told["dropped"]) == ("failed", {"address_refused": 1})
        assert "SHOAL_ALLOW_PRIVATE=on at the workers" in told["limiting"]
        explained = api.get(f"/jobs/{id}/explain?url={site.url()}")
        assert "SHOAL_ALLOW_PRIVATE=on at the workers" in str(explained)
        assert site.log() == []
        # Whoever holds the servers decides alone.
        direct = fleet.submit(site.url(), "--allow-private", "--rate", "0", "--max-pages", "2")
        assert fleet.until_ended(direct)["pages"] == 2
