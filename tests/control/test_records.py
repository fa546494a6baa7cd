"""What a job found, over HTTP: listings with cursors and filters, dead letters, explanations, exports and bodies."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

import pyarrow.parquet as pq
import pytest

from shoal.control.streamed_files import AT_ONCE
from shoal.fleet.fleet import Fleet
from shoal.frontier.contract import Caller
from shoal.frontier.serialize import request_text
from shoal.model import (
    Completion,
    DeadLetter,
    ItemRecord,
    JobState,
    Outcome,
    PageRecord,
    Target,
    Trail,
    fingerprint_hex,
)
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import load_job
from shoal.urls import Params, target
from tests.control.calling import Api, problem, slots_taken
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"


def page(job: str, n: int, **about: Any) -> PageRecord:
    url = f"{URL}{n}"
    host = about.pop("host", "example.com")
    record = PageRecord(job, n, 1, url, host, 200, 0, None, "text/html", 3, "d", 1, 5, 1000.0 + n // 2, **about)
    record.items = [ItemRecord("Book", json.dumps({"n": n, "part": part})) for part in range(2)]
    return record


def letter(job: str, wanted: Target, reason: str, status: int | None = None) -> DeadLetter:
    request = request_text(wanted, Trail())
    url, fingerprint, host = wanted[:3]
    return DeadLetter(job, fingerprint, 1, url, host, reason, status, "gone", 0, None, 4, time.time(), request)


def with_pages(api: Api, n: int) -> str:
    """Two of them at the same moment each, as it happens."""
    job = api.submit(URL)
    save(api.bridge.store, Batch(job, pages=[page(job, number) for number in range(n)]))
    return job


def with_dead(api: Api) -> str:
    job = api.submit(URL)
    at = [target(url, Params(), "host") for url in (URL, f"{URL}b", "https://example.org/")]
    letters = [letter(job, at[0], "http", 503), letter(job, at[1], "http", 503), letter(job, at[2], "timeout")]
    save(api.bridge.store, Batch(job, dead=letters))
    return job


def walked(api: Api, path: str, name: str) -> list[dict[str, Any]]:
    found, cursor = [], ""
    while cursor is not None:
        part = api.get(f"{path}{'&' if '?' in path else '?'}limit=3{f'&cursor={cursor}' if cursor else ''}")
        found += part[name]
        cursor = part["next"]
    return found


def test_cursors_lead_through_every_page_once_in_the_order_of_the_crawl(api: Api) -> None:
    job = with_pages(api, 8)
    found = walked(api, f"/jobs/{job}/pages", "pages")
    assert [row["url"] for row in found] == [f"{URL}{n}" for n in range(8)]


def test_cursors_lead_through_every_item_once(api: Api) -> None:
    job = with_pages(api, 4)
    found = walked(api, f"/jobs/{job}/items", "items")
    assert [(item["n"], item["part"]) for item in found] == [(n, part) for n in range(4) for part in range(2)]
    assert found[0]["_url"] == f"{URL}0" and found[0]["_type"] == "Book" and len(found[0]["_page"]) == 16


def test_pages_and_items_are_filtered(api: Api) -> None:
    job = api.submit(URL)
    other = page(job, 2, host="example.org")
    other.status, other.items = 404, [ItemRecord("Shop", "{}")]
    save(api.bridge.store, Batch(job, pages=[page(job, 1), other]))
    for asked in ("status=404", "host=example.org"):
        assert [row["url"] for row in api.get(f"/jobs/{job}/pages?{asked}")["pages"]] == [f"{URL}2"]
    assert len(api.get(f"/jobs/{job}/items?type=Shop")["items"]) == 1
    assert api.get(f"/jobs/{job}/pages?host=%00")["pages"] == []
    assert [len(api.get(f"/jobs/{job}/pages?merged={asked}")["pages"]) for asked in ("true", "false")] == [0, 2]


def test_a_cursor_of_another_job_or_listing_is_refused(api: Api) -> None:
    job, other = with_pages(api, 4), with_pages(api, 4)
    cursor = api.get(f"/jobs/{job}/pages?limit=1")["next"]
    assert cursor
    for path in (f"/jobs/{other}/pages", f"/jobs/{job}/items", f"/jobs/{job}/dead", "/jobs"):
        told = problem(api("GET", f"{path}?cursor={cursor}"), 422)
        assert told["errors"][0]["field"] == "cursor"


@pytest.mark.parametrize("cursor", ["", "x", "é", "bnVsbA", "W10", "A" * 5000, "WyJwYWdlcyIsMSwyXQ"])
def test_what_is_no_cursor_is_refused(api: Api, cursor: str) -> None:
    problem(api("GET", f"/jobs/{api.submit(URL)}/pages?cursor={cursor}"), 422)


def test_dead_letters_are_listed_filtered_and_counted_by_what_they_share(api: Api) -> None:
    job = with_dead(api)
    assert len(walked(api, f"/jobs/{job}/dead", "dead")) == 3
    assert [row["host"] for row in api.get(f"/jobs/{job}/dead?reason=timeout")["dead"]] == ["example.org"]
    assert len(api.get(f"/jobs/{job}/dead?status=503&host=example.com")["dead"]) == 2
    groups = api.get(f"/jobs/{job}/dead?group=reason,host")["groups"]
    times = [(group.pop("first_at"), group.pop("last_at")) for group in groups]
    assert [sum(group.pop("trend")["counts"]) for group in groups] == [2, 1]
    assert groups[0] == {"reason": "http", "host": "example.com", "count": 2, "samples": [URL, f"{URL}b"]}
    assert groups[1] == {"reason": "timeout", "host": "example.org", "count": 1, "samples": ["https://example.org/"]}
    assert all(first <= last for first, last in times) and times[1][0] == times[1][1]
    problem(api("GET", f"/jobs/{job}/dead?group=url"), 422)


def dying(api: Api, fleet: FleetShell) -> str:
    """A job that has ended with two dead letters, of which its frontier knows."""
    job = api.submit(URL, "https://example.org/", politeness={"rate": 0})
    fleet.begin(job)
    leases = fleet.lease()
    assert len(leases) == 2

    async def act(opened: Fleet) -> None:
        save(opened.store, Batch(job, dead=[letter(job, lease.target, "http", 503) for lease in leases]))
        ends = [Completion(lease.token, Outcome.DEAD) for lease in leases]
        await opened.frontier.complete(Caller("end").next(), ends)

    fleet.by_hand(act)
    fleet.end(job, JobState.DONE)
    return job


def test_dead_letters_are_tried_again_all_or_those_that_match(api: Api, fleet: FleetShell) -> None:
    job = dying(api, fleet)
    assert api("POST", f"/jobs/{job}/dead/retry", {"host": "example.org"}).get_json() == {"retried": 1}
    assert [lease.target.host for lease in fleet.lease()] == ["example.org"]
    assert [row["host"] for row in api.get(f"/jobs/{job}/dead")["dead"]] == ["example.com"]
    assert api("POST", f"/jobs/{job}/dead/retry", {}).get_json() == {"retried": 1}
    assert api.get(f"/jobs/{job}")["state"] in ("running", "waiting")


def test_a_job_that_is_paused_stays_so_when_dead_letters_are_tried_again(api: Api, fleet: FleetShell) -> None:
    job = dying(api, fleet)
    fleet.end(job, JobState.RUNNING)
    assert api("POST", f"/jobs/{job}/pause").status_code == 200
    assert api("POST", f"/jobs/{job}/dead/retry", {}).get_json() == {"retried": 2}
    assert fleet.lease() == [] and load_job(api.bridge.store, job).state is JobState.PAUSED
    assert api("POST", f"/jobs/{job}/resume").status_code == 200
    assert len(fleet.lease()) == 2


def test_purged_letters_are_gone_and_those_that_do_not_match_stay(api: Api) -> None:
    job = with_dead(api)
    assert api("DELETE", f"/jobs/{job}/dead?reason=timeout").get_json() == {"purged": 1}
    assert api("DELETE", f"/jobs/{job}/dead").get_json() == {"purged": 2}
    assert api.get(f"/jobs/{job}/dead")["dead"] == []


def test_any_url_is_explained(api: Api, fleet: FleetShell) -> None:
    job = with_dead(api)
    assert api.get(f"/jobs/{job}/explain?url={URL}b")["outcome"] == "dead"
    assert api.get(f"/jobs/{job}/explain?url=https://other.example/")["outcome"] == "skipped"
    problem(api("GET", f"/jobs/{job}/explain?url=%23"), 422)
    assert "url" in problem(api("GET", f"/jobs/{job}/explain"), 422)["detail"]


def test_an_export_is_the_data_in_each_format(api: Api) -> None:
    job = with_pages(api, 4)
    lines = api("GET", f"/jobs/{job}/export?what=items")
    assert lines.content_type == "application/x-ndjson"
    assert lines.headers["Content-Disposition"] == f'attachment; filename="{job}-items.jsonl"'
    assert [json.loads(line)["n"] for line in lines.text.splitlines()] == [0, 0, 1, 1, 2, 2, 3, 3]
    rows = list(csv.DictReader(io.StringIO(api("GET", f"/jobs/{job}/export?format=csv").text)))
    assert [row["url"] for row in rows] == [f"{URL}{n}" for n in range(4)]
    table = pq.read_table(io.BytesIO(api("GET", f"/jobs/{job}/export?what=items&format=parquet").data))
    assert table.column("n").to_pylist() == ["0", "0", "1", "1", "2", "2", "3", "3"], "of a type that nobody declared"
    array = api("GET", f"/jobs/{job}/export?what=items&format=json&fields=_url,n&provenance=true")
    assert array.content_type == "application/json"
    assert [list(row.items()) for row in json.loads(array.text)][:1] == [[("_url", f"{URL}0"), ("n", 0)]]
    problem(api("GET", f"/jobs/{job}/export?format=xml"), 422)
    assert "no field 'titel'" in problem(api("GET", f"/jobs/{job}/export?what=pages&fields=titel"), 422)["detail"]


def test_an_export_is_sent_while_it_is_read(api: Api) -> None:
    job = api.submit(URL)
    pages = [page(job, n, title="x" * 1000) for n in range(200)]
    save(api.bridge.store, Batch(job, pages=pages))
    answered = api("GET", f"/jobs/{job}/export", buffered=False)
    parts = list(answered.response)
    assert len(parts) > 2 and max(map(len, parts)) < 100_000
    answered.close()


def test_readers_who_stop_do_not_keep_others_from_exporting(api: Api) -> None:
    job = api.submit(URL)
    save(api.bridge.store, Batch(job, pages=[page(job, n, title="x" * 1000) for n in range(200)]))
    begun = [api("GET", f"/jobs/{job}/export", buffered=False) for _ in range(AT_ONCE)]
    refused = api("GET", f"/jobs/{job}/export")
    problem(refused, 503)
    assert refused.headers["Retry-After"]
    begun[0].close()
    assert api("GET", f"/jobs/{job}/export").status_code == 200
    for one in begun[1:]:
        one.close()


def test_exports_take_no_thread_that_others_wait_in(api: Api) -> None:
    job = with_pages(api, 2)
    with slots_taken(api):
        refused = api("GET", f"/jobs/{job}/export")
        problem(refused, 503)
        assert refused.headers["Retry-After"]
    for _ in range(AT_ONCE + 1):
        assert api("GET", f"/jobs/{job}/export").status_code == 200, "nothing is held for one that was refused"


def test_the_body_of_a_page_that_is_not_archived_is_not_found(api: Api) -> None:
    job = with_pages(api, 2)
    assert "not in the archive" in problem(api("GET", f"/jobs/{job}/pages/{fingerprint_hex(1)}/body"), 404)["detail"]
    for fingerprint in (fingerprint_hex(99), "x", "f" * 17, "-000000000000001", "0x00000000000001"):
        problem(api("GET", f"/jobs/{job}/pages/{fingerprint}/body"), 404)
