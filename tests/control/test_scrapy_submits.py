"""Scrapy projects as jobs and schedules of Shoal's own API."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from shoal.model import PACKAGE, Requester, ScrapyRun
from shoal.store.fleet.scrapy_projects import (
    KEEP_S,
    package_content,
    remove_unused_packages,
    remove_versions,
    versions_of,
)
from shoal.store.jobs import load_job
from tests.control.scrapyd_calls import SUBMIT, Scrapyd
from tests.fleet.by_hand import FleetShell


def test_a_project_is_submitted_as_any_job(news: Scrapyd) -> None:
    given = {"project": "news", "spider": "daily", "arguments": {"city": "Rome"}, "settings": {"LOG_LEVEL": "INFO"}}
    order = {"scrapy": given, "max_pages": 5, "name": "romans", "lane": "slow"}
    answered = news.api("POST", "/jobs", order, SUBMIT, headers={"Idempotency-Key": "k1"})
    assert answered.status_code == 201, answered.text
    assert news.api("POST", "/jobs", order, SUBMIT, headers={"Idempotency-Key": "k1"}).get_json() == answered.get_json()
    id = answered.get_json()["id"]
    spec = load_job(news.api.bridge.store, id).spec
    run = spec.scrapy_run
    assert (spec.scrapy, spec.name, spec.limits.pages, spec.lane.value) == ("daily", "romans", 5, "slow")
    assert run is not None and run.package is not None and (run.processes, run.version) == (1, "1.0")
    assert (run.arguments, run.settings) == ({"city": "Rome", "_job": id}, {"LOG_LEVEL": "INFO"})
    assert news.get("status", job=id)["currstate"] == "pending"


@pytest.mark.parametrize(
    ("given", "more", "status", "said"),
    [
        ({"project": "sports"}, {}, 422, "this fleet has the projects afar, news, own"),
        ({"project": "news", "version": "9"}, {}, 422, "version '9' not found"),
        ({"spider": "weekly"}, {}, 422, "spider 'weekly' not found"),
        ({}, {"rate": 2}, 422, "--rate: not for a Scrapy project"),
        ({}, {"urls": []}, 422, "its own start URLs"),
        ({"processes": 2}, {}, 403, "more than one process"),
        ({"settings": {"ROBOTSTXT_OBEY": "0"}}, {}, 403, "ROBOTSTXT_OBEY"),
        ({"arguments": {"download_delay": "0"}}, {}, 403, "download_delay"),
    ],
)
def test_what_a_submitted_project_may_not_be(
    news: Scrapyd, given: dict[str, Any], more: dict[str, Any], status: int, said: str
) -> None:
    order = {"scrapy": {"project": "news", "spider": "daily", **given}, **more}
    answered = news.api("POST", "/jobs", order, SUBMIT)
    assert answered.status_code == status and said in answered.text, answered.text


def test_schedules_take_projects_of_the_operator(news: Scrapyd, declared: Path) -> None:
    planned = news.plan("nightly", project="own", spider="weekly")
    assert planned.status_code == 201 and planned.get_json()["job"]["spider"] == "weekly", planned.text
    id = news.run_planned("nightly")["job"]
    spec = load_job(news.api.bridge.store, id).spec
    assert spec.scrapy_run == ScrapyRun(str(declared), {"_job": id}, {}, 1, "own", None, id)
    assert [job["id"] for job in news.get("listjobs", project="own")["pending"]] == [id]


def test_the_version_of_a_scheduled_job_is_chosen_when_it_is_due(news: Scrapyd) -> None:
    store = news.api.bridge.store
    latest = news.plan("latest", arguments={"city": "Rome"})
    pinned = news.plan("pinned", version="1.0")
    assert (latest.status_code, pinned.status_code) == (201, 201), latest.text + pinned.text
    shown = [one.get_json()["job"] for one in (latest, pinned)]
    assert [(job["project"], job["version"]) for job in shown] == [("news", None), ("news", "1.0")]
    news.keep("news", "1.1", "daily")
    packages = {one.version: f"{PACKAGE}{one.package}" for one in versions_of(store, "news")}
    first, second = news.run_planned("latest")["job"], news.run_planned("pinned")["job"]
    arguments = {"city": "Rome", "_job": first}
    assert load_job(store, first).spec.scrapy_run == ScrapyRun(packages["1.1"], arguments, {}, 1, "news", "1.1", first)
    run = load_job(store, second).spec.scrapy_run
    assert run == ScrapyRun(packages["1.0"], {"_job": second}, {}, 1, "news", "1.0", second)
    assert load_job(store, first).spec.asked_by is Requester.SUBMITTER
    assert [job["id"] for job in news.get("listjobs", SUBMIT)["pending"]] == [first, second]


def test_what_a_schedule_needs_is_not_deleted(news: Scrapyd) -> None:
    news.keep("news", "1.1", "daily")
    news.plan("pinned", version="1.0")
    news.plan("latest")
    for name, form in (("delversion", {"version": "1.0"}), ("delproject", {})):
        assert news.refused(name, project="news", **form).startswith("schedule '")
    assert "schedule 'pinned'" in news.refused("delversion", project="news", version="1.0")
    assert news.post("delversion", project="news", version="1.1")["status"] == "ok"
    assert news.api("DELETE", "/schedules/pinned").status_code == 204
    assert "schedule 'latest'" in news.refused("delversion", project="news", version="1.0"), "it is the only one"
    (kept,) = versions_of(news.api.bridge.store, "news")
    remove_unused_packages(news.api.bridge.store, time.time() + KEEP_S + 60)
    assert package_content(news.api.bridge.store, kept.package) is not None
    assert news.api("DELETE", "/schedules/latest").status_code == 204
    assert news.post("delproject", project="news")["status"] == "ok"


def test_a_schedule_whose_project_is_gone_says_so(news: Scrapyd, fleet: FleetShell) -> None:
    assert news.plan("nightly").get_json()["cannot_run"] is None
    news.keep("news", "2.0", "hourly")
    said = "version '2.0' of project 'news' has no spider 'daily'"
    assert news.api.get("/schedules/nightly")["cannot_run"] == said
    assert f"cannot run: {said}" in fleet("schedule", "list").out
    # As if it had been deleted while the schedule was made.
    remove_versions(news.api.bridge.store, "news", None, time.time())
    run, gone = news.run_planned("nightly"), "project 'news' was deleted: upload it again, or remove the schedule"
    assert (run["state"], run["reason"]) == ("failed", gone)
    listed = fleet("schedule", "list").out
    assert f"cannot run: {gone}" in listed and f"failed: {gone}" in listed


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"project": "sports"}, 422, "this fleet has the projects afar, news, own"),
        ({"version": "9"}, 422, "version '9' not found"),
        ({"spider": "weekly"}, 422, "spider 'weekly' not found"),
        ({"settings": {"ROBOTSTXT_OBEY": "0"}}, 403, "ROBOTSTXT_OBEY"),
        ({"processes": 2}, 403, "more than one process"),
    ],
)
def test_what_may_not_be_submitted_may_not_be_scheduled(
    news: Scrapyd, given: dict[str, Any], status: int, said: str
) -> None:
    answered = news.plan("nightly", **given)
    assert answered.status_code == status and said in answered.text, answered.text
    assert news.api.get("/schedules") == {"schedules": []}
