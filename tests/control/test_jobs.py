"""Jobs over HTTP: submitted with all options, listed, steered and removed with everything that was kept for them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from shoal.fleet.fleet import Fleet
from shoal.frontier.redis.shard import TAG
from shoal.model import JobState, Lane, PageRecord, ScopeKind
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.segment_table import OPEN, STORED, Segment, save_segment
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_removal import sweep_segments
from shoal.store.jobs import load_job
from shoal.store.tables import metadata
from tests.control.calling import Api, problem
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"


def test_a_job_is_stored_and_invalid_urls_are_listed_with_the_reason(api: Api) -> None:
    answered = api("POST", "/jobs", {"urls": [URL, URL, "mailto:x"], "name": "shop"})
    made = answered.get_json()
    assert answered.status_code == 201
    assert (made["accepted"], made["duplicates"], made["rejected_count"]) == (1, 1, 1)
    assert made["rejected"] == [{"url": "mailto:x", "reason": "not_http"}]
    assert (made["name"], made["state"]) == ("shop", "queued")
    assert api.get(f"/jobs/{made['id']}")["name"] == "shop"


def test_every_option_reaches_the_job(api: Api) -> None:
    id = api.submit(
        URL,
        scope="domain",
        include=["*/books/*"],
        exclude=["*/private/*"],
        sitemaps=True,
        limits={"pages": 9, "depth": 2, "bytes": 10_000, "seconds": 60.5, "pages_per_host": 3},
        politeness={"rate": 0.5, "per_host": 1, "group": "domain", "robots": False},
        lane="express",
        priority=7,
        render="never",
        archive=False,
        text=False,
        max_archive_bytes=5,
        retries=1,
        refresh=True,
        headers={"X-Team": "books"},
        cookies={"session": "1"},
        proxies=["http://127.0.0.1:3128"],
        keep_params=["id"],
        drop_params=["ref"],
        allow_traps=["calendar"],
        allow_private=True,
        max_failure_rate=0.5,
        max_null_share=0.5,
        max_change=0.25,
        error_on_limit=True,
    )
    spec = load_job(api.bridge.store, id).spec
    assert (spec.scope, spec.include, spec.exclude, spec.sitemaps) == (
        ScopeKind.DOMAIN,
        ("*/books/*",),
        ("*/private/*",),
        True,
    )
    limits, polite = spec.limits, spec.politeness
    assert (limits.pages, limits.depth, limits.bytes, limits.seconds, limits.pages_per_host) == (9, 2, 10_000, 60.5, 3)
    assert (polite.rate, polite.per_host, polite.group, polite.robots) == (0.5, 1, "domain", False)
    assert (spec.lane, spec.priority, spec.archive, spec.text, spec.max_archive_bytes) == (
        Lane.EXPRESS,
        7,
        False,
        False,
        5,
    )
    assert (spec.retries, spec.refresh, spec.headers, spec.cookies) == (1, True, {"X-Team": "books"}, ("session=1",))
    assert (spec.proxies, spec.keep_params, spec.drop_params) == (("http://127.0.0.1:3128",), ("id",), ("ref",))
    assert (spec.allow_traps, spec.allow_private, spec.error_on_limit) == (("calendar",), True, True)
    assert (spec.max_failure_rate, spec.max_null_share, spec.max_change) == (0.5, 0.5, 0.25)


def test_rules_are_data_and_a_spider_must_be_on_the_list(api: Api) -> None:
    rules = {"name": "books", "start": [URL], "items": [{"fields": {"title": "h1"}}]}
    answered = api("POST", "/jobs", {"rules": rules})
    assert answered.status_code == 201, answered.text
    assert load_job(api.bridge.store, answered.get_json()["id"]).spec.rules
    for spider in ("os:system", "../x.py:books", "shops.books:books"):
        assert "SHOAL_SPIDERS" in problem(api("POST", "/jobs", {"spider": spider}), 422)["detail"]
    assert (
        "h1[" in problem(api("POST", "/jobs", {"rules": {**rules, "items": [{"fields": {"t": "h1["}}]}}), 422)["detail"]
    )


@pytest.mark.parametrize("url", ["file:///etc/passwd", "@/etc/passwd", "/etc/passwd", ""])
def test_a_url_never_opens_a_file_of_the_server(api: Api, url: str) -> None:
    problem(api("POST", "/jobs", {"urls": [url]}), 422)


def test_the_list_continues_at_the_cursor_newest_first(api: Api) -> None:
    made = [api.submit(URL, name=f"job {n}", lane="express" if n == 1 else "slow") for n in range(5)]
    first = api.get("/jobs?limit=2")
    second = api.get(f"/jobs?limit=2&cursor={first['next']}")
    third = api.get(f"/jobs?limit=2&cursor={second['next']}")
    assert [job["id"] for part in (first, second, third) for job in part["jobs"]] == made[::-1]
    assert third["next"] is None
    assert [job["name"] for job in api.get("/jobs?lane=express")["jobs"]] == ["job 1"]
    assert [job["id"] for job in api.get("/jobs?name=job%203")["jobs"]] == [made[3]]
    api("POST", f"/jobs/{made[2]}/cancel")
    assert [job["id"] for job in api.get("/jobs?state=cancelled")["jobs"]] == [made[2]]


def test_a_job_is_paused_resumed_and_cancelled_for_good(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL)
    fleet.begin(id)
    assert api("POST", f"/jobs/{id}/pause").get_json()["state"] == "paused"
    assert fleet.lease() == []
    assert api.get(f"/jobs/{id}")["state"] == "paused"
    assert api("POST", f"/jobs/{id}/resume").get_json()["state"] == "running"
    assert len(fleet.lease()) == 1
    assert api("POST", f"/jobs/{id}/cancel").get_json()["state"] == "cancelled"
    for wish in ("pause", "resume", "cancel"):
        problem(api("POST", f"/jobs/{id}/{wish}"), 409)


def test_figures_match_those_of_the_command(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL, "https://example.org/")
    fleet.begin(id)
    told, figures = api.get(f"/jobs/{id}"), fleet.figures(id)
    # The API has them at `/jobs/{id}/overview`.
    assert figures.pop("failures") == []
    assert told == figures
    assert (told["found"], told["queued"]) == (2, 2)


def test_a_job_of_the_home_is_unknown_to_the_fleet(api: Api, fleet: FleetShell) -> None:
    from shoal.model import JobSpec
    from shoal.store.jobs import create_job

    create_job(api.bridge.store, "homejob1", lambda: JobSpec("here"), [], time.time())
    problem(api("GET", "/jobs/homejob1"), 404)
    assert api.get("/jobs")["jobs"] == []


def save_page(api: Api, job: str, archive: str, fingerprint: int = 7) -> None:
    page = PageRecord(
        job, fingerprint, 1, URL, "example.com", 200, 0, None, "text/html", 3, "d", 1, 5, time.time(), archive=archive
    )
    save(api.bridge.store, Batch(job, pages=[page]))


def rows_of(api: Api, job: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    with api.bridge.store.read() as db:
        for table in metadata.sorted_tables:
            of_job = table.c.id if table.name == "jobs" else table.c.get("job")
            if of_job is not None and table.name != "answers":
                counts[table.name] = db.execute(select(func.count()).where(of_job == job)).scalar_one()
    return {name: n for name, n in counts.items() if n}


def test_a_removed_job_leaves_no_row_no_key_and_no_segment(api: Api, fleet: FleetShell) -> None:
    id, later = api.submit(URL, name="shop"), api.submit(URL, name="shop", refresh=True)
    fleet.begin(id)
    segment = Path(fleet.home, "archive", id, "20261115-p-0.warc.gz")
    segment.parent.mkdir(parents=True)
    segment.write_bytes(b"x")
    save_segment(api.bridge.store, Segment(id, "20261115-p-0", "here", "p", STORED, 1, time.time()))
    save_page(api, id, f"{id}/20261115-p-0:0:1")
    save_page(api, later, f"{id}/20261115-p-0:0:1", 8)
    assert {"jobs", "inputs", "pages", "segments"} <= rows_of(api, id).keys()
    assert "cancel" in problem(api("DELETE", f"/jobs/{id}"), 409)["detail"]
    api("POST", f"/jobs/{id}/cancel")
    assert api("DELETE", f"/jobs/{id}").status_code == 204
    assert rows_of(api, id) == {} and not segment.parent.exists()
    # Its body went with the job that had it.
    assert api.get(f"/jobs/{later}/pages")["pages"][0]["archive"] is None

    async def sweep(opened: Fleet) -> None:
        await opened.frontier.reap()

    fleet.by_hand(sweep)
    kept = [key for key in fleet.redis.client.keys(f"{TAG}:*") if id.encode() in key]
    assert kept == []
    problem(api("DELETE", f"/jobs/{id}"), 404)


def test_a_repeated_call_that_removes_a_job_by_name_removes_no_other(api: Api) -> None:
    first, second = api.submit(URL, name="shop"), api.submit(URL, name="shop")
    for id in (first, second):
        api("POST", f"/jobs/{id}/cancel")
    for name in ("shop", "last", second[:-1]):
        assert f"?confirm={second}" in problem(api("DELETE", f"/jobs/{name}"), 409)["detail"]
        assert f"?confirm={second}" in problem(api("DELETE", f"/jobs/{name}?confirm={first}"), 409)["detail"]
    assert api("DELETE", f"/jobs/shop?confirm={second}").status_code == 204
    assert f"names job {first}" in problem(api("DELETE", f"/jobs/shop?confirm={second}"), 409)["detail"]
    assert api("DELETE", f"/jobs/{first}").status_code == 204
    problem(api("DELETE", f"/jobs/{first}"), 404)
    problem(api("DELETE", f"/jobs/shop?confirm={first}"), 404)


def test_a_name_with_a_slash_fits_into_a_path(api: Api) -> None:
    id, other = api.submit(URL, name="team/ü b/pages"), api.submit(URL, name="team%2Fb")
    for name in ("team%2F%C3%BC%20b%2Fpages", "team%2f%c3%bc%20b%2fpages"):
        assert api.get(f"/jobs/{name}")["id"] == id
        assert api.get(f"/jobs/{name}/pages?limit=1")["pages"] == []
    assert api.get("/jobs/team%252Fb")["id"] == other
    problem(api("GET", "/jobs/team/%C3%BC%20b/pages"), 404)


def test_a_segment_that_a_worker_still_holds_is_removed_when_it_reaches_the_archive(
    api: Api, fleet: FleetShell
) -> None:
    id, store = api.submit(URL), api.bridge.store
    held = Segment(id, "20261115-p-0", "here", "p", OPEN, 1, time.time())
    save_segment(store, held)
    api("POST", f"/jobs/{id}/cancel")
    assert api("DELETE", f"/jobs/{id}").status_code == 204
    assert rows_of(api, id) == {"segments": 1}
    archive = Archive.at(None, fleet.home)
    sweep_segments(store, archive)
    assert rows_of(api, id) == {"segments": 1}
    Path(fleet.home, "archive", id).mkdir(parents=True)
    Path(fleet.home, "archive", id, "20261115-p-0.warc.gz").write_bytes(b"x")
    sweep_segments(store, archive)
    assert rows_of(api, id) == {} and not Path(fleet.home, "archive", id).exists()


def test_a_job_is_not_removed_while_workers_hold_leases_of_it(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL)
    fleet.begin(id)
    assert len(fleet.lease()) == 1
    api("POST", f"/jobs/{id}/cancel")
    answered = api("DELETE", f"/jobs/{id}")
    problem(answered, 409)
    assert answered.headers["Retry-After"]
    assert api.get(f"/jobs/{id}")["state"] == "cancelled"


def test_a_job_that_no_worker_serves_says_so(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL, lane="slow")
    told: dict[str, Any] = api.get(f"/jobs/{id}")
    assert told["state"] == JobState.WAITING and "shoal worker --lanes slow" in told["limiting"]
    fleet.man(Lane.SLOW)
    assert api.get(f"/jobs/{id}")["limiting"] is None
