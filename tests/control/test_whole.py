"""A job whole, for commands from afar: by any name it has, as the fleet itself sees it, and without its secrets."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

from shoal.control.models.job_detail import OverviewShown
from shoal.jobs.job_overview import overview
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.time_series import record_series
from tests.control.calling import Api, problem
from tests.store.make import page

PAGE = "https://example.com/"
HUSH = {
    "headers": {"X-Key": "hush", "User-Agent": "mine/1"},
    "cookies": {"session": "hush"},
    "proxies": ["http://ann:hush@proxy:1"],
    "webhook": {"url": "https://hooks.example/hush", "secret": "hush"},
    "rules": {"name": "r", "start": [PAGE], "items": [{"fields": {"t": "h1"}}], "options": {"header": ["A: hush"]}},
}


def test_a_job_is_found_by_the_beginning_of_its_id_and_the_newest_as_last(api: Api) -> None:
    first, second = api.submit(PAGE), api.submit(PAGE)
    assert api.get(f"/jobs/{first[:-1]}/spec" if first[:-1] != second[:-1] else f"/jobs/{first}/spec")["id"] == first
    assert api.get("/jobs/last/spec")["id"] == second
    assert first in problem(api("GET", f"/jobs/{first[0]}/spec"), 422)["detail"]
    assert second in problem(api("GET", "/jobs/nothing/spec"), 404)["detail"]


@pytest.mark.parametrize("named", ["last", "prefix", "books"])
def test_every_call_but_remove_takes_the_beginning_of_an_id_a_name_and_last(api: Api, named: str) -> None:
    job = api.submit(PAGE, name="books")
    name = job[:-1] if named == "prefix" else named
    for path in (
        "",
        "/overview",
        "/series",
        "/shape",
        "/quality",
        "/pages",
        "/items",
        "/dead",
        f"/explain?url={PAGE}",
        "/export",
    ):
        assert api("GET", f"/jobs/{name}{path}").status_code == 200, path
    assert api.get(f"/jobs/{name}")["id"] == job
    assert api("PATCH", f"/jobs/{name}", {"max_pages": 3}).get_json()["id"] == job
    assert api("POST", f"/jobs/{name}/urls", [f"{PAGE}a"]).get_json()["id"] == job
    for verb in ("pause", "resume", "cancel"):
        assert api("POST", f"/jobs/{name}/{verb}").get_json()["id"] == job
    assert api("DELETE", f"/jobs/{job}").status_code == 204
    problem(api("GET", f"/jobs/{job}"), 404)


def test_the_log_has_the_id_of_a_job_that_was_called_last(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    job = api.submit(PAGE)
    with caplog.at_level(logging.INFO, "shoal.control.app"):
        api("POST", "/jobs/last/pause")
    assert [vars(record)["about"]["job"] for record in caplog.records if "/pause" in record.getMessage()] == [job]


def test_without_any_job_there_is_no_last(api: Api) -> None:
    problem(api("GET", "/jobs/last/spec"), 404)


def test_no_secret_is_told(api: Api) -> None:
    job = api.submit("https://ann:hush@example.com/", **HUSH)
    for path in ("spec", "overview"):
        assert "hush" not in json.dumps(api.get(f"/jobs/{job}/{path}"))
    told = api.get(f"/jobs/{job}/spec")["spec"]
    assert told["headers"] == {"X-Key": "***", "User-Agent": "mine/1"} and told["cookies"] == ["session=***"]
    assert len(told["proxies"]) == 1 and told["rules"] == "***" and list(told["credentials"]) == ["https://example.com"]


def test_an_overview_is_what_the_fleet_sees(api: Api) -> None:
    job = api.submit(PAGE, limits={"pages": 3})
    told = OverviewShown.model_validate(api.get(f"/jobs/{job}/overview")).root
    fleet = api.bridge.fleet
    assert told == api.bridge.run(overview(fleet, job))


def test_the_series_of_a_job_has_a_point_for_each_minute(api: Api) -> None:
    job, at = api.submit(PAGE), 1_700_000_040.0
    fetched = [page(n, fetched_at=at + n, status=200 + 204 * (n == 3)) for n in range(4)]
    save(api.bridge.store, Batch(job, pages=[replace(one, job=job) for one in fetched]))
    record_series(api.bridge.store, job, now=at + 75, queue=5)
    (first, *_) = api.get(f"/jobs/{job}/series")["points"]
    assert first == {
        "at": "2023-11-14T22:14:00.000Z",
        "seconds": 60,
        "pages": 4,
        "by_status": {"200": 3, "404": 1},
        "bytes": 4000,
        "items": 0,
        "p50_ms": 20,
        "p95_ms": 20,
        "queue": 5,
    }


def test_null_holds_the_place_of_a_line_that_has_no_url(api: Api) -> None:
    answered = api("POST", "/jobs", {"urls": [None, PAGE, None, f"{PAGE}a", PAGE]})
    job = answered.get_json()["id"]
    lines = api("GET", f"/jobs/{job}/export?what=inputs").text.splitlines()
    assert [(row["line"], row["duplicate_of"]) for row in map(json.loads, lines)] == [(2, None), (4, None), (5, 2)]
    assert "no URL" in problem(api("POST", "/jobs", {"urls": [None]}), 422)["detail"]
