"""Schedules over HTTP."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shoal.fleet.cron import Cron
from shoal.practice.request import Answer, Visit, not_found
from shoal.store.fleet.schedules import RunState, find_schedule, last_runs
from shoal.store.fleet.tokens import TokenScope
from tests.cli.crawling import until
from tests.control.calling import Api, problem
from tests.control.live import Live
from tests.fleet.hosting import hosting

ORDER: dict[str, Any] = {
    "name": "news",
    "cron": "30 4 * * mon",
    "zone": "Europe/Berlin",
    "job": {"urls": ["https://example.com/"], "limits": {"pages": 5}, "headers": {"X-Key": "secret"}},
}


def test_a_schedule_is_made_shown_changed_and_removed(api: Api) -> None:
    made = api("POST", "/schedules", ORDER)
    assert made.status_code == 201, made.text
    told = made.get_json()
    assert (told["name"], told["overlap"], told["paused"]) == ("news", "skip", False)
    assert len(told["next_runs"]) == 3 and all("T04:30:00+0" in at for at in told["next_runs"])
    assert told["job"]["options"] == {"name": "news", "refresh": True, "max_pages": 5, "header": ["***"]}
    assert "secret" not in made.text
    assert api.get("/schedules") == {"schedules": [told]} and api.get("/schedules/news") == told
    changed = api("PATCH", f"/schedules/{told['id']}", {"cron": "0 5 * * *", "overlap": "queue", "paused": True})
    assert (changed.get_json()["cron"], changed.get_json()["next_runs"]) == ("0 5 * * *", [])
    assert api.get("/schedules/news")["overlap"] == "queue"
    assert api("DELETE", "/schedules/news").status_code == 204
    problem(api("GET", "/schedules/news"), 404)


def test_of_changes_at_once_none_is_lost(api: Api) -> None:
    id = api("POST", "/schedules", ORDER).get_json()["id"]
    changes: list[dict[str, Any]] = [{"overlap": "queue"}, {"cron": "0 5 * * *"}, {"zone": "UTC"}, {"paused": False}]
    with ThreadPoolExecutor(len(changes)) as pool:
        answered = list(pool.map(lambda change: api("PATCH", f"/schedules/{id}", change), changes))
    assert {one.status_code for one in answered} == {200}
    told = api.get("/schedules/news")
    assert (told["overlap"], told["cron"], told["zone"]) == ("queue", "0 5 * * *", "UTC")
    found = find_schedule(api.bridge.store, id)
    assert found is not None and found.due_at == Cron("0 5 * * *", "UTC").after(time.time())
    assert api("PATCH", f"/schedules/{id}", {}).status_code == 200


def test_run_now_is_refused_while_an_earlier_job_has_not_ended(api: Api) -> None:
    id = api("POST", "/schedules", ORDER).get_json()["id"]
    ran = api("POST", "/schedules/news/run")
    assert ran.status_code == 202, ran.text
    (run,) = last_runs(api.bridge.store, id, 5)
    assert run.state is RunState.DUE
    assert ran.get_json()["runs"] == [
        {"at": ran.get_json()["runs"][0]["at"], "state": "due", "job": run.job, "missed": 0, "reason": None}
    ]
    # Nobody tends here: the job is made as tend would.
    made = api("POST", "/jobs", {"urls": ["https://example.com/"]}).get_json()["id"]
    with api.bridge.store.write() as db:
        db.exec_driver_sql(f"UPDATE runs SET job = '{made}', state = 'begun'")
    assert made in problem(api("POST", "/schedules/news/run"), 409)["detail"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cron": "61 * * * *"}, "cron"),
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"overlap": "often"}, "overlap"),
        ({"job": {"urls": ["mailto:x"]}}, "urls"),
        ({"job": {"urls": ["https://example.com/"], "spider": "os.path:join"}}, "spider"),
        ({"more": 1}, "more"),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_kept(api: Api, change: dict[str, Any], named: str) -> None:
    assert named in problem(api("POST", "/schedules", {**ORDER, **change}), 422)["detail"]
    assert api.get("/schedules") == {"schedules": []}


def test_a_name_is_taken_once(api: Api) -> None:
    assert api("POST", "/schedules", ORDER).status_code == 201
    problem(api("POST", "/schedules", ORDER), 409)


def test_what_needs_an_admin_in_a_job_needs_one_in_a_schedule(api: Api) -> None:
    problem(api("POST", "/schedules", ORDER, scope=TokenScope.SUBMIT), 403)
    modest = {**ORDER, "job": {"urls": ["https://example.com/"]}}
    problem(api("POST", "/schedules", modest, scope=TokenScope.READ), 403)
    assert api("POST", "/schedules", modest, scope=TokenScope.SUBMIT).status_code == 201
    problem(api("PATCH", "/schedules/news", {"job": ORDER["job"]}, scope=TokenScope.SUBMIT), 403)


def test_no_reader_is_shown_what_only_its_maker_knows(api: Api) -> None:
    job = {
        "urls": ["https://example.com/"],
        "headers": {"X-Key": "secret-1"},
        "cookies": {"session": "secret-2"},
        "proxies": ["http://ann:secret-3@127.0.0.1:3128"],
        "webhook": {"url": "https://hooks.example.com/secret-4", "secret": "secret-5"},
    }
    made = api("POST", "/schedules", {**ORDER, "job": job})
    assert made.status_code == 201, made.text
    shown = api("GET", "/schedules/news", scope=TokenScope.READ)
    assert "secret-" not in made.text + shown.text
    masked = {"header": ["***"], "cookie": ["***"], "proxy": ["***"], "webhook": "***", "webhook_secret": "***"}
    assert masked.items() <= shown.get_json()["job"]["options"].items()


def test_a_schedule_keeps_no_passwords_of_urls(api: Api) -> None:
    job = {"urls": ["https://ann:pass@example.com/"]}
    answered = api("POST", "/schedules", {**ORDER, "job": job})
    assert "cannot store passwords" in problem(answered, 422)["detail"] and "pass@" not in answered.text
    assert api("POST", "/schedules", ORDER).status_code == 201
    problem(api("PATCH", "/schedules/news", {"job": job}), 422)
    found = find_schedule(api.bridge.store, "news")
    assert found is not None and "pass@" not in found.job


def test_the_second_run_asks_only_for_what_has_changed(live: Live) -> None:
    asked: list[str | None] = []

    def answer(visit: Visit) -> Answer:
        if visit.path != "/":
            return not_found(visit)
        asked.append(visit.headers.get("if-none-match"))
        return Answer(304, b"") if asked[-1] else Answer(200, b"<title>t</title>words", headers={"ETag": '"one"'})

    with hosting(answer, hosts=1) as site:
        job = {"urls": [site.url()], "politeness": {"rate": 0}}
        status, told = live.call("POST", "/schedules", {"name": "tagged", "cron": "0 4 1 1 *", "job": job})
        assert status == 201, told
        ran = [_run_to_its_end(live, "tagged") for _ in range(2)]
        assert asked == [None, '"one"']
    statuses = [live.fleet.figures(id)["by_status"] for id in ran]
    assert statuses == [{"200": 1}, {"304": 1}]
    assert live.send("DELETE", "/schedules/tagged")[0] == 204


def _run_to_its_end(live: Live, name: str) -> str:
    status, told = live.call("POST", f"/schedules/{name}/run")
    assert status == 202, told
    id = str(told["runs"][0]["job"])
    until(lambda: live.call("GET", f"/jobs/{id}")[0] == 200)
    live.fleet.until_ended(id)
    return id
