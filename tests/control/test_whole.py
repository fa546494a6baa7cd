"""A job whole, for commands from afar: by any name it has, as the fleet itself sees it, and without its secrets."""

from __future__ import annotations

import json

from shoal.control.models.whole import OverviewShown
from shoal.jobs.overview import overview
from tests.control.calling import Api, problem

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
    assert api("GET", "/jobs/last/overview").status_code == 404


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


def test_null_holds_the_place_of_a_line_that_has_no_url(api: Api) -> None:
    answered = api("POST", "/jobs", {"urls": [None, PAGE, None, f"{PAGE}a", PAGE]})
    job = answered.get_json()["id"]
    lines = api("GET", f"/jobs/{job}/export?what=inputs").text.splitlines()
    assert [(row["line"], row["duplicate_of"]) for row in map(json.loads, lines)] == [(2, None), (4, None), (5, 2)]
    assert "no URL" in problem(api("POST", "/jobs", {"urls": [None]}), 422)["detail"]
