"""A job changed while it runs: kept, told to the frontier, met by workers, and no change lost."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shoal.fleet.fleet import Fleet
from shoal.frontier.contract import Caller
from shoal.model import JobState, Lane, Offer, ScopeKind, Trail, reached
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import load_job
from shoal.urls import Params, target
from tests.cli.crawling import until
from tests.control.calling import Api, api_over, problem
from tests.fleet.by_hand import FleetShell, fleet_shell

URL = "https://example.com/"
QUEUED = [f"https://example.com/{part}/{n}" for part in ("books", "films") for n in range(30)]


def change(api: Api, id: str, body: dict[str, Any], **named: Any) -> dict[str, Any]:
    answered = api("PATCH", f"/jobs/{id}{named.pop('query', '')}", body, **named)
    assert answered.status_code == 200, answered.text
    told: dict[str, Any] = answered.get_json()
    return told


def begun(api: Api, fleet: FleetShell, **options: Any) -> str:
    id = api.submit(URL, **options)
    fleet.begin(id)
    return id


def offer(fleet: FleetShell, id: str, urls: list[str]) -> None:
    targets = [target(url, Params(), "host") for url in urls]

    async def act(opened: Fleet) -> None:
        await opened.frontier.offer(Caller(f"links-{time.time()}").next(), [Offer(id, targets, Trail(1, parent=7))])

    fleet.by_hand(act)


def test_only_given_fields_change(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet, limits={"pages": 9, "depth": 2}, exclude=["*/a"], politeness={"per_host": 1})
    body = {"limits": {"pages": None, "bytes": 500}, "politeness": {"rate": 4.5}, "lane": "express", "priority": 3}
    assert change(api, id, body) == {"id": id, "version": 2}
    spec = load_job(api.bridge.store, id).spec
    assert (spec.limits.pages, spec.limits.depth, spec.limits.bytes) == (None, 2, 500)
    assert (spec.politeness.rate, spec.politeness.per_host, spec.exclude) == (4.5, 1, ("*/a",))
    assert (spec.lane, spec.priority) == (Lane.EXPRESS, 3)
    assert api.get(f"/jobs/{id}")["version"] == 2


def test_the_frontier_has_the_new_terms_at_once_and_workers_a_later_edition(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet, politeness={"rate": 10})
    offer(fleet, id, QUEUED[:9])
    first, *_ = fleet.lease()
    fleet.by_hand(lambda opened: opened.frontier.reap(all_leases=True))
    change(api, id, {"politeness": {"rate": 0}, "lane": "slow"})

    async def lease(opened: Fleet) -> list[Any]:
        return list(await opened.frontier.lease(Caller(f"slow-{time.time()}").next(), 10, [Lane.SLOW]))

    (second, *_) = until(lambda: fleet.by_hand(lease))
    assert first.gap_s > second.gap_s == 0.0
    assert second.edition > first.edition
    job = load_job(api.bridge.store, id)
    assert job.frontier_version == job.version == 2


def test_a_paused_job_stays_paused(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    assert api("POST", f"/jobs/{id}/pause").status_code == 200
    change(api, id, {"priority": 1})
    assert fleet.lease() == []
    assert load_job(api.bridge.store, id).state is JobState.PAUSED


def test_a_job_that_has_not_started_starts_with_its_change(api: Api) -> None:
    id = api.submit(URL)
    change(api, id, {"limits": {"pages": 3}})
    job = load_job(api.bridge.store, id)
    assert (job.spec.limits.pages, job.version, job.frontier_version) == (3, 2, 1)


def test_a_limited_job_continues_only_with_a_higher_limit(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet, limits={"pages": 3})
    fleet.end(id, JobState.LIMITED, reached("pages"))
    for body in ({"limits": {"pages": 2}}, {"priority": 1}):
        problem(api("PATCH", f"/jobs/{id}", body), 409)
    change(api, id, {"limits": {"pages": 5}})
    job = load_job(api.bridge.store, id)
    assert (job.state, job.finished_at, job.spec.limits.pages, job.frontier_version) == (
        JobState.RUNNING,
        None,
        5,
        job.version,
    )


@pytest.mark.parametrize(("method", "path"), [("POST", "/resume"), ("PATCH", "")])
def test_a_limited_job_names_the_call_that_continues_it(api: Api, fleet: FleetShell, method: str, path: str) -> None:
    id = begun(api, fleet, limits={"pages": 9, "pages_per_host": 3})
    fleet.end(id, JobState.LIMITED, reached("pages_per_host"))
    told = problem(api(method, f"/jobs/{id}{path}", {}), 409)["detail"]
    way_on = f'PATCH /api/v1/jobs/{id} with {{"max_pages_per_host": N}}, N above 3'
    assert reached("pages_per_host") in told and told.endswith(way_on)
    change(api, id, {"limits": {"pages_per_host": 4}})
    assert load_job(api.bridge.store, id).state is JobState.RUNNING


def test_no_concurrent_change_is_lost(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    bodies: list[dict[str, Any]] = [
        {"limits": {"pages": 11}},
        {"limits": {"bytes": 22}},
        {"politeness": {"per_host": 3}},
        {"priority": 4},
        {"exclude": ["*/b"]},
    ]
    with ThreadPoolExecutor(5) as threads:
        told = list(threads.map(lambda body: change(api, id, body), bodies))
    assert sorted(one["version"] for one in told) == [2, 3, 4, 5, 6]
    job = load_job(api.bridge.store, id)
    assert (job.spec.limits.pages, job.spec.limits.bytes, job.spec.politeness.per_host) == (11, 22, 3)
    assert (job.spec.priority, job.spec.exclude, job.version, job.frontier_version) == (4, ("*/b",), 6, 6)


def test_a_change_to_an_old_version_is_refused(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    assert change(api, id, {"priority": 1}, query="?version=1")["version"] == 2
    assert "version 1" in problem(api("PATCH", f"/jobs/{id}?version=1", {"priority": 2}), 409)["detail"]
    assert load_job(api.bridge.store, id).spec.priority == 1


def test_a_preview_counts_what_a_new_exclusion_would_drop_and_changes_nothing(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    offer(fleet, id, QUEUED)
    told = change(api, id, {"exclude": ["*/films/*"]}, query="?preview=true")
    assert told == {"id": id, "version": 1, "queued": 61, "would_drop": 30, "is_estimate": False}
    assert change(api, id, {"exclude": ["*"]}, query="?preview=true")["would_drop"] == 60, "what was given stays"
    assert change(api, id, {"include": ["*/books/1*"]}, query="?preview=true")["would_drop"] == 60 - 11
    assert change(api, id, {"priority": 1}, query="?preview=true")["would_drop"] == 0
    assert load_job(api.bridge.store, id).version == 1
    assert change(api, api.submit(URL), {"exclude": ["*"]}, query="?preview=true")["queued"] == 0


def test_a_preview_counts_what_a_narrower_scope_would_drop(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet, scope="any")
    offer(fleet, id, [*QUEUED, "https://blog.example.com/a", "https://example.org/a", "https://example.org/b"])
    for scope, dropped in (("any", 0), ("domain", 2), ("host", 3), ("prefix", 3), ("listed", 63)):
        told = change(api, id, {"scope": scope}, query="?preview=true")
        assert (told["queued"], told["would_drop"]) == (64, dropped), scope
    assert change(api, id, {"scope": "host", "exclude": ["*/films/*"]}, query="?preview=true")["would_drop"] == 33
    assert load_job(api.bridge.store, id).spec.scope is ScopeKind.ANY
    assert change(api, id, {"scope": "host"})["version"] == 2
    assert load_job(api.bridge.store, id).spec.scope is ScopeKind.HOST


def test_a_preview_of_a_long_queue_is_an_estimate(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    for n in range(8):
        offer(fleet, id, [f"https://example.com/{'odd' if m % 2 else 'even'}/{n}/{m}" for m in range(1_000)])
    told = change(api, id, {"exclude": ["*/odd/*"]}, query="?preview=true")
    assert told["is_estimate"] and told["queued"] == 8_001
    assert 3_900 < told["would_drop"] < 4_100


@pytest.mark.parametrize(
    "body",
    [
        {"exclude": ["re:("]},
        {"lane": None},
        {"scope": "everything"},
        {"limits": {"pages": 0}},
        {"politeness": {"robots": False}},
        {"urls": [URL]},
    ],
)
def test_an_invalid_change_is_refused_with_its_field(api: Api, fleet: FleetShell, body: dict[str, Any]) -> None:
    id = begun(api, fleet)
    assert next(iter(body)) in problem(api("PATCH", f"/jobs/{id}", body), 422)["detail"]
    assert load_job(api.bridge.store, id).version == 1


def test_a_rate_above_the_operators_needs_an_admin(shared_api: Api, fleet: FleetShell) -> None:
    id = begun(shared_api, fleet)
    problem(shared_api("PATCH", f"/jobs/{id}", {"politeness": {"rate": 0}}, scope=TokenScope.SUBMIT), 403)
    change(shared_api, id, {"politeness": {"rate": 1}}, scope=TokenScope.SUBMIT)
    problem(shared_api("PATCH", f"/jobs/{id}", {"priority": 1}, scope=TokenScope.READ), 403)


def test_an_ended_or_unknown_job_cannot_be_changed(api: Api, fleet: FleetShell) -> None:
    id = begun(api, fleet)
    fleet.end(id, JobState.DONE)
    problem(api("PATCH", f"/jobs/{id}", {"priority": 1}), 409)
    problem(api("PATCH", "/jobs/nothing", {"priority": 1}), 404)


def test_while_redis_is_away_nothing_is_changed(tmp_path: Path) -> None:
    with fleet_shell(tmp_path) as fleet, api_over(fleet.settings) as api:
        id = begun(api, fleet)
        fleet.redis.kill()
        problem(api("PATCH", f"/jobs/{id}", {"priority": 1}), 503)
        assert load_job(api.bridge.store, id).version == 1
