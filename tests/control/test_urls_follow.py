"""A job that is made without URLs waits for those that are appended, and neither ends nor uses its time before."""

from __future__ import annotations

import csv
import io
import json

from shoal.fleet.fleet import Fleet
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import load_job
from tests.control.calling import Api, problem
from tests.control.live import Live
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"
ROWS = 5_000
SITES = 200


def test_it_says_what_it_waits_for(api: Api, fleet: FleetShell) -> None:
    fleet.man()
    answered = api("POST", "/jobs", {"urls": [], "scope": "listed"}, TokenScope.SUBMIT)
    made = answered.get_json()
    assert answered.status_code == 201 and (made["state"], made["accepted"]) == ("queued", 0)
    told = api.get(f"/jobs/{made['id']}")
    assert told["state"] == "waiting" and f"POST /api/v1/jobs/{made['id']}/urls" in told["limiting"]
    assert "no URLs yet" in fleet("job", made["id"]).out
    assert api("POST", f"/jobs/{made['id']}/urls", ["mailto:x"]).get_json()["accepted"] == 0
    assert api.get(f"/jobs/{made['id']}")["state"] == "waiting"
    assert api("POST", f"/jobs/{made['id']}/urls", [URL]).get_json()["accepted"] == 1
    assert api.get(f"/jobs/{made['id']}")["state"] == "queued"


def test_who_forgets_the_urls_is_told(api: Api) -> None:
    assert "no URL" in problem(api("POST", "/jobs", {"scope": "listed"}), 422)["detail"]
    assert "no URL" in problem(api("POST", "/jobs", {"urls": [None]}), 422)["detail"]
    schedule = {"name": "n", "cron": "0 4 * * *", "job": {"urls": []}}
    problem(api("POST", "/schedules", schedule), 422)


def test_it_can_be_paused_resumed_cancelled_and_removed(api: Api) -> None:
    id = api.submit()
    assert api("POST", f"/jobs/{id}/pause").status_code == 200
    assert api.get(f"/jobs/{id}")["state"] == "paused"
    assert api("POST", f"/jobs/{id}/resume").get_json()["state"] == "queued"
    assert api.get(f"/jobs/{id}")["state"] == "waiting"
    assert api("POST", f"/jobs/{id}/cancel").status_code == 200
    assert api("DELETE", f"/jobs/{id}").status_code == 204


def test_tend_leaves_it_alone_until_its_first_urls_come(live: Live) -> None:
    job = live.submit(scope="listed", limits={"seconds": 600})
    # That others come to their end shows that tend went round.
    for _ in range(3):
        live.fleet.until_ended(live.submit(live.page(1), scope="listed"))
    told = live.call("GET", f"/jobs/{job}")[1]
    assert told["state"] == "waiting" and told["started_at"] is None

    async def seconds(fleet: Fleet) -> float:
        return load_job(fleet.store, job).seconds

    assert live.fleet.by_hand(seconds) == 0
    assert live.call("POST", f"/jobs/{job}/urls", [live.page(2)])[1]["accepted"] == 1
    figures = live.fleet.until_ended(job)
    assert (figures["state"], figures["pages"]) == ("done", 1)


def test_a_spreadsheet_of_5000_rows_is_its_first_input_and_comes_back_row_by_row(live: Live) -> None:
    job = live.submit(scope="listed", name="shops")
    rows = [f'"Shop, No. {n}",{live.page(n % SITES)}\n'.encode() for n in range(ROWS - 2)]
    status, text = live.send(
        "POST",
        f"/jobs/{job}/urls?column=website",
        iter([b"name,website\n", *rows, b"Closed,\nBad,mailto:x\n"]),
        "text/csv",
    )
    told = json.loads(text)
    assert (status, told["accepted"], told["duplicates"], told["rejected_count"]) == (200, SITES, ROWS - 2 - SITES, 2)
    assert [bad["line"] for bad in told["rejected"]] == [ROWS, ROWS + 1]
    assert live.fleet.until_ended(job)["pages"] == SITES
    report = live.send("GET", f"/jobs/{job}/export?format=csv&what=inputs")[1].decode()
    shown = list(csv.DictReader(io.StringIO(report)))
    assert [int(row["line"]) for row in shown] == list(range(2, ROWS + 2))
    assert [row["outcome"] for row in shown] == ["page"] * (ROWS - 2) + ["rejected"] * 2
    assert [row["duplicate_of"] for row in shown[SITES : SITES + 2]] == ["2", "3"]
