"""Whose jobs and schedules a token sees: made of the routes, so that no call can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from werkzeug.test import TestResponse

from shoal.control.app import ROUTES
from shoal.control.routes import API, Operation
from shoal.model import JobState
from shoal.store.fleet.schedules import find_schedule
from shoal.store.fleet.scrapy_projects import save_version
from shoal.store.fleet.tokens import TokenScope, add_token, find_token
from shoal.store.jobs import load_job
from tests.control.calling import Api, problem
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"
GIVEN: dict[str, tuple[str, Any]] = {
    "change_running": ("", {"priority": 1}),
    "append_urls": ("", [URL + "a"]),
    "retry": ("", {}),
    "diff": ("?other=JOB", None),
    "explain": (f"?url={URL}", None),
    "explanation": (f"?url={URL}", None),
    "change": ("", {"cron": "0 6 * * *"}),
}
"""By operation what a call needs: query and body."""
OF_PAGES = {"archive", "body", "files"}
"""Operations that find nothing in a job without a page."""
OF_NO_JOB = {
    *("submit", "jobs", "scrape", "schedules", "add_schedule", "stats", "fleet_series", "workers"),
    *("hosts", "host", "change_host", "exclusions", "set_exclusions"),
    *("tokens", "make_token", "change_token", "revoke_token"),
    *("proxy_pools", "proxy_pool", "set_proxy_pool", "remove_proxy_pool"),
}
"""Operations that name none; what some of them tell of jobs has tests of its own here."""
OPERATIONS = [one for routes in ROUTES for one in routes.operations if one.path.startswith(API)]
OF_JOBS = [one for one in OPERATIONS if one.path.startswith(f"{API}/jobs/<id>")]
OF_SCHEDULES = [one for one in OPERATIONS if one.path.startswith(f"{API}/schedules/<id>")]


@dataclass
class Tenants:
    """Ann and Bob may submit."""

    api: Api
    ann: str
    bob: str

    def call(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> TestResponse:
        named = {"json": body} if body is not None else {}
        head = {"Authorization": f"Bearer {token}", **headers}
        return self.api.client.open(f"{API}{path}", method=method, headers=head, **named)

    def submit(self, token: str, **order: Any) -> str:
        made = self.call(token, "POST", "/jobs", {"urls": [URL], **order})
        assert made.status_code == 201, made.text
        return str(made.get_json()["id"])

    def schedule(self, token: str, name: str = "news") -> str:
        order = {"name": name, "cron": "0 5 * * *", "job": {"urls": [URL]}}
        made = self.call(token, "POST", "/schedules", order)
        assert made.status_code == 201, made.text
        return str(made.get_json()["id"])

    def get(self, token: str, path: str) -> Any:
        answered = self.call(token, "GET", path)
        assert answered.status_code == 200, answered.text
        return answered.get_json()

    def ids(self, token: str, path: str = "/jobs") -> set[str]:
        return {one["id"] for one in self.get(token, path)[path.strip("/").partition("?")[0]]}

    def id_of(self, token: str) -> str:
        found = find_token(self.api.bridge.store, token)
        assert found is not None
        return found.id


def _tenants(api: Api) -> Tenants:
    return Tenants(api, *(add_token(api.bridge.store, name, TokenScope.SUBMIT) for name in ("ann", "bob")))


@pytest.fixture
def tenants(api: Api) -> Tenants:
    return _tenants(api)


@pytest.fixture
def team(shared_api: Api) -> Iterator[Tenants]:
    """The same where jobs are shared."""
    yield _tenants(shared_api)


def asked(tenants: Tenants, token: str, operation: Operation, id: str) -> TestResponse:
    query, body = GIVEN.get(operation.name, ("", None))
    path = operation.path.removeprefix(API).replace("<id>", id).replace("<fingerprint>", "0" * 16)
    return tenants.call(token, operation.method, path + query.replace("JOB", id), body)


def missing(answered: TestResponse, id: str) -> bool:
    """The job or schedule itself, not something of it."""
    said = answered.get_json()["detail"] if answered.status_code == 404 else ""
    return f"there is no job {id!r}" in said or f"there is no schedule {id!r}" in said


def test_every_call_is_of_a_job_or_of_a_schedule_or_known_to_be_of_neither() -> None:
    named = {one.name for one in (*OF_JOBS, *OF_SCHEDULES)}
    assert len(OF_JOBS) > 15 and len(OF_SCHEDULES) > 3
    assert {one.name for one in OPERATIONS} == named | OF_NO_JOB


def test_another_tokens_job_is_answered_like_an_unknown_one(tenants: Tenants) -> None:
    job = tenants.submit(tenants.ann)
    unknown = job[:-1] + ("0" if job[-1] != "0" else "1")
    for operation in OF_JOBS:
        others, none = (problem(asked(tenants, tenants.bob, operation, id), 404) for id in (job, unknown))
        assert others["detail"].replace(job, "") == none["detail"].replace(unknown, ""), operation.name
    left = load_job(tenants.api.bridge.store, job)
    assert (left.state, left.version, left.spec.priority) == (JobState.QUEUED, 1, 0)


def test_another_tokens_schedule_is_answered_like_an_unknown_one(tenants: Tenants) -> None:
    schedule = tenants.schedule(tenants.ann)
    for operation in OF_SCHEDULES:
        for name in (schedule, "news"):
            assert missing(asked(tenants, tenants.bob, operation, name), name), operation.name
    left = find_schedule(tenants.api.bridge.store, schedule)
    assert left is not None and left.cron == "0 5 * * *"


@pytest.mark.parametrize("who", ["owner", "reader", "admin"])
def test_owner_and_admin_control_a_job_and_a_reader_only_reads(tenants: Tenants, who: str) -> None:
    tokens = {
        "owner": tenants.ann,
        "reader": tenants.api.tokens[TokenScope.READ],
        "admin": tenants.api.tokens[TokenScope.ADMIN],
    }
    job, schedule = tenants.submit(tenants.ann), tenants.schedule(tenants.ann)
    _check_reached(tenants, tokens[who], job, schedule, looks_only=who == "reader")


def test_with_shared_jobs_any_submitter_controls_all_jobs(team: Tenants) -> None:
    job, schedule = team.submit(team.ann), team.schedule(team.ann)
    _check_reached(team, team.bob, job, schedule, looks_only=False)


def _check_reached(tenants: Tenants, token: str, job: str, schedule: str, *, looks_only: bool) -> None:
    last = ("cancel", "purge", "drop_schedule", "remove")
    for operation in sorted((*OF_JOBS, *OF_SCHEDULES), key=lambda one: one.name in last and 1 + last.index(one.name)):
        id = job if operation in OF_JOBS else schedule
        answered = asked(tenants, token, operation, id)
        if looks_only and operation.scope is not TokenScope.READ:
            assert answered.status_code == 403, operation.name
        else:
            assert not missing(answered, id) and answered.status_code not in (401, 403), operation.name
            assert answered.status_code not in (404, 422) or operation.name in OF_PAGES, operation.name


def test_lists_and_counts_contain_only_the_submitters_own(tenants: Tenants) -> None:
    admin, reader = tenants.api.tokens[TokenScope.ADMIN], tenants.api.tokens[TokenScope.READ]
    anns, bobs, admins = {tenants.submit(tenants.ann) for _ in range(3)}, {tenants.submit(tenants.bob)}, set[str]()
    admins.add(tenants.submit(admin))
    seen = {tenants.ann: anns, tenants.bob: bobs, admin: anns | bobs | admins, reader: anns | bobs | admins}
    for token, jobs in seen.items():
        assert tenants.ids(token) == jobs
        stats = tenants.get(token, "/stats")
        assert stats["jobs"]["queued"] == sum(lane["jobs"] for lane in stats["lanes"].values()) == len(jobs)
    first = tenants.get(tenants.ann, "/jobs?limit=1")
    assert tenants.ids(tenants.ann, f"/jobs?cursor={first['next']}") == anns - {first["jobs"][0]["id"]}
    everything = tenants.get(admin, "/jobs?limit=1")
    assert tenants.ids(tenants.bob, f"/jobs?cursor={everything['next']}") <= bobs
    anns_schedule, bobs_schedule = tenants.schedule(tenants.ann), tenants.schedule(tenants.bob)
    assert tenants.ids(tenants.ann, "/schedules") == {anns_schedule}
    assert tenants.ids(reader, "/schedules") == {anns_schedule, bobs_schedule}


def test_no_name_finds_another_tokens_job(tenants: Tenants) -> None:
    bobs, anns = tenants.submit(tenants.bob), tenants.submit(tenants.ann)
    assert tenants.get(tenants.bob, "/jobs/last/spec")["id"] == bobs
    assert tenants.get(tenants.ann, "/jobs/last/spec")["id"] == anns
    for name in (anns, anns[:-1]):
        for path in (f"/jobs/{name}/spec", f"/jobs/{bobs}/diff?other={name}"):
            refused = problem(tenants.call(tenants.bob, "GET", path), 404)["detail"]
            assert refused == f"there is no job {name!r}; the newest are: {bobs} 'example.com'"


def test_the_same_key_of_two_tokens_makes_two_jobs(tenants: Tenants) -> None:
    made = [
        tenants.call(token, "POST", "/jobs", {"urls": [URL]}, **{"Idempotency-Key": "today"}).get_json()["id"]
        for token in (tenants.ann, tenants.bob, tenants.ann)
    ]
    assert made[0] == made[2] != made[1]
    assert tenants.ids(tenants.bob) == {made[1]}


def test_a_scrape_belongs_to_its_token(tenants: Tenants) -> None:
    scraped = tenants.call(tenants.ann, "POST", "/scrape", {"url": URL, "timeout_s": 0.01})
    assert scraped.status_code == 202, scraped.text
    assert tenants.ids(tenants.ann) == {scraped.get_json()["id"]} and tenants.ids(tenants.bob) == set()


def test_only_admins_and_the_owner_see_the_owner(tenants: Tenants) -> None:
    admin, reader = tenants.api.tokens[TokenScope.ADMIN], tenants.api.tokens[TokenScope.READ]
    job, anns_id = tenants.submit(tenants.ann), tenants.id_of(tenants.ann)
    for token, name, id in ((admin, "ann", anns_id), (tenants.ann, "ann", anns_id), (reader, None, None)):
        overview = tenants.get(token, f"/jobs/{job}/overview")
        told = [tenants.get(token, "/jobs")["jobs"][0], tenants.get(token, f"/jobs/{job}"), overview]
        assert [one["owner"] for one in told] == [name] * 3
        assert overview["job"]["owner"] == tenants.get(token, f"/jobs/{job}/spec")["owner"] == id
    assert tenants.get(admin, f"/jobs/{tenants.submit(admin)}")["owner"] is None


def test_jobs_of_a_removed_token_stay_and_do_not_pass_to_a_new_token_with_its_name(tenants: Tenants) -> None:
    admin = tenants.api.tokens[TokenScope.ADMIN]
    job, schedule, anns_id = tenants.submit(tenants.ann), tenants.schedule(tenants.ann), tenants.id_of(tenants.ann)
    assert tenants.call(admin, "DELETE", "/tokens/ann").status_code == 204
    again = tenants.call(admin, "POST", "/tokens", {"name": "ann", "scope": "submit"}).get_json()["token"]
    assert tenants.ids(again) == tenants.ids(again, "/schedules") == set()
    assert tenants.get(admin, f"/jobs/{job}")["owner"] == anns_id
    assert tenants.ids(admin, "/schedules") == {schedule}


def test_two_submitters_schedules_may_have_one_name(tenants: Tenants) -> None:
    admin = tenants.api.tokens[TokenScope.ADMIN]
    anns, bobs = tenants.schedule(tenants.ann), tenants.schedule(tenants.bob)
    order = {"name": "news", "cron": "0 5 * * *", "job": {"urls": [URL]}}
    problem(tenants.call(tenants.ann, "POST", "/schedules", order), 409)
    assert tenants.get(tenants.bob, "/schedules/news")["id"] == bobs
    several = problem(tenants.call(admin, "DELETE", "/schedules/news"), 422)["detail"]
    assert anns in several and bobs in several
    admins = tenants.schedule(admin)
    assert tenants.get(admin, "/schedules/news")["id"] == admins
    assert tenants.call(admin, "DELETE", f"/schedules/{anns}").status_code == 204


def test_a_submitter_lists_no_hosts_and_is_told_no_name_of_one(tenants: Tenants, fleet: FleetShell) -> None:
    fleet.begin(tenants.submit(tenants.ann, urls=["https://secret-shop.test/"]))
    assert fleet.lease()
    admin, reader = tenants.api.tokens[TokenScope.ADMIN], tenants.api.tokens[TokenScope.READ]
    for token in (admin, reader):
        assert [one["host"] for one in tenants.get(token, "/hosts")["hosts"]] == ["secret-shop.test"]
        assert "secret-shop.test" in problem(tenants.call(token, "GET", "/hosts/secret-shp.test"), 404)["detail"]
    assert "by name" in problem(tenants.call(tenants.bob, "GET", "/hosts"), 403)["detail"]
    assert "secret-shop" not in problem(tenants.call(tenants.bob, "GET", "/hosts/secret-shp.test"), 404)["detail"]
    assert tenants.get(tenants.ann, "/hosts/secret-shop.test")["in_flight"] == 1


def test_workers_name_no_job_of_another(tenants: Tenants, fleet: FleetShell) -> None:
    anns, bobs = tenants.submit(tenants.ann), tenants.submit(tenants.bob)
    fleet.man(unloadable={anns: "no module", bobs: "no module"})
    named = {tenants.ann: {anns}, tenants.bob: {bobs}, tenants.api.tokens[TokenScope.READ]: {anns, bobs}}
    for token, jobs in named.items():
        workers = tenants.get(token, "/workers")["workers"]
        assert {job for worker in workers for job in worker["unloadable"]} == jobs


def test_with_shared_jobs_only_an_admin_runs_a_schedule_with_an_admins_settings_of_scrapy(team: Tenants) -> None:
    save_version(team.api.bridge.store, "news", "1.0", b"", ["daily"], 1.0)
    for name, settings, status in (("free", {"LOG_LEVEL": "INFO"}, 202), ("code", {"STATS_CLASS": "os.system"}, 403)):
        job = {"scrapy": {"project": "news", "spider": "daily", "settings": settings}}
        order = {"name": name, "cron": "@yearly", "job": job}
        assert team.api("POST", "/schedules", order).status_code == 201
        ran = team.call(team.ann, "POST", f"/schedules/{name}/run")
        assert ran.status_code == status and (status == 202 or "STATS_CLASS" in ran.text), ran.text


def test_what_is_made_while_jobs_are_shared_belongs_to_nobody(team: Tenants) -> None:
    job = team.submit(team.ann)
    assert load_job(team.api.bridge.store, job).owner is None
    assert team.ids(team.bob) == {job} and team.get(team.bob, "/hosts")["hosts"] == []
