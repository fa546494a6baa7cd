"""Who may do what: a token always, its scope, and what only an admin may ask for."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import select, update

from shoal.control.app import ROUTES
from shoal.store.tables import tokens
from shoal.store.tokens import Scope, add_token, find_token, list_tokens, note_use
from tests.control.calling import Api, problem

URL = "https://example.com/"


def test_no_call_of_the_api_goes_without_a_token(api: Api) -> None:
    for operation in [operation for routes in ROUTES for operation in routes.operations]:
        path = operation.path.replace("<", "").replace(">", "")
        if operation.scope is not None:
            answered = api.client.open(path, method=operation.method)
            problem(answered, 401)
            assert answered.headers["WWW-Authenticate"].startswith("Bearer")
        else:
            assert not path.startswith("/api/")


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", "Basic {token}", "Bearer {token}x", "Bearer shoal_", "{token}"]
)
def test_what_is_no_token_of_ours_is_refused(api: Api, given: str) -> None:
    header = given.format(token=api.tokens[Scope.ADMIN])
    problem(api.client.get("/api/v1/jobs", headers={"Authorization": header}), 401)


def test_a_removed_token_is_refused_at_once(api: Api) -> None:
    api.get("/jobs", scope=Scope.READ)
    assert api("DELETE", "/tokens/read").status_code == 204
    problem(api("GET", "/jobs", scope=Scope.READ), 401)
    problem(api("DELETE", "/tokens/read"), 404)


def test_a_reader_submits_nothing_and_a_submitter_is_no_admin(api: Api) -> None:
    assert "submit" in problem(api("POST", "/jobs", {"urls": [URL]}, Scope.READ), 403)["detail"]
    made = api("POST", "/jobs", {"urls": [URL]}, Scope.SUBMIT)
    assert made.status_code == 201
    problem(api("POST", f"/jobs/{made.get_json()['id']}/cancel", scope=Scope.READ), 403)
    for method, path in (("GET", "/tokens"), ("POST", "/tokens"), ("PATCH", "/hosts/example.com")):
        problem(api(method, path, {}, Scope.SUBMIT), 403)


ADMINS = [
    {"allow_private": True},
    {"politeness": {"robots": False}},
    {"politeness": {"rate": 0}},
    {"politeness": {"rate": 10.5}},
    {"headers": {"X-Team": "a"}},
    {"cookies": {"a": "b"}},
    {"proxies": ["http://127.0.0.1:3128"]},
]


@pytest.mark.parametrize("options", ADMINS, ids=lambda options: next(iter(options)))
def test_what_spares_hosts_or_reaches_inside_needs_an_admin(api: Api, options: dict[str, Any]) -> None:
    assert "admin" in problem(api("POST", "/jobs", {"urls": [URL], **options}, Scope.SUBMIT), 403)["detail"]
    assert api("POST", "/jobs", {"urls": [URL], **options}).status_code == 201


@pytest.mark.parametrize("options", ADMINS, ids=lambda options: next(iter(options)))
def test_a_job_with_what_needs_an_admin_is_fed_by_an_admin_only(shared_api: Api, options: dict[str, Any]) -> None:
    job = shared_api.submit(URL, **options)
    lines = {"data": URL + "b", "headers": {"Content-Type": "text/plain"}}
    assert "admin" in problem(shared_api("POST", f"/jobs/{job}/urls", [URL + "a"], Scope.SUBMIT), 403)["detail"]
    problem(shared_api("POST", f"/jobs/{job}/urls", scope=Scope.SUBMIT, **lines), 403)
    problem(shared_api("PATCH", f"/jobs/{job}", {"include": ["*"]}, Scope.SUBMIT), 403)
    problem(shared_api("PATCH", f"/jobs/{job}", {"scope": "any"}, Scope.SUBMIT), 403)
    assert shared_api("PATCH", f"/jobs/{job}", {"priority": 1}, Scope.SUBMIT).status_code == 200
    assert shared_api("POST", f"/jobs/{job}/urls", [URL + "a"]).get_json()["accepted"] == 1


def test_limits_of_a_job_with_what_needs_an_admin_are_raised_by_an_admin_only(shared_api: Api) -> None:
    limits = {"pages": 5, "depth": 1, "bytes": 9_000, "seconds": 60, "pages_per_host": 3}
    job = shared_api.submit(URL, headers={"X-Team": "a"}, limits=limits)
    for name, limit in limits.items():
        for more in (limit + 1, None):
            change = {"limits": {name: more}}
            assert "headers" in problem(shared_api("PATCH", f"/jobs/{job}", change, Scope.SUBMIT), 403)["detail"]
            problem(shared_api("PATCH", f"/jobs/{job}?preview=true", change, Scope.SUBMIT), 403)
    assert shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": 4, "depth": 0}}, Scope.SUBMIT).status_code == 200
    problem(shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": 5}}, Scope.SUBMIT), 403)
    assert shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": None}}).status_code == 200
    anyones = shared_api.submit(URL, limits=limits)
    assert shared_api("PATCH", f"/jobs/{anyones}", {"limits": {"pages": None}}, Scope.SUBMIT).status_code == 200


def test_a_job_with_a_password_is_fed_by_an_admin_only(shared_api: Api) -> None:
    job = shared_api.submit("https://ann:pw@example.com/")
    answered = shared_api("POST", f"/jobs/{job}/urls", [URL + "a"], Scope.SUBMIT)
    assert "credentials" in problem(answered, 403)["detail"] and "pw" not in answered.text


def test_rules_do_not_smuggle_in_what_needs_an_admin(api: Api) -> None:
    rules = {"name": "books", "start": [URL], "items": [{"fields": {"title": "h1"}}]}
    for options in ({"allow_private": True}, {"ignore_robots": True}, {"rate": 0}, {"header": ["X: y"]}):
        problem(api("POST", "/jobs", {"rules": {**rules, "options": options}}, Scope.SUBMIT), 403)
    # Not to be passed by what is no mapping, either.
    problem(api("POST", "/jobs", {"rules": {**rules, "options": ["allow_private"]}}, Scope.SUBMIT), 422)
    assert api("POST", "/jobs", {"rules": {**rules, "options": {"rate": 10}}}, Scope.SUBMIT).status_code == 201


def test_only_a_hash_of_a_token_is_kept(api: Api) -> None:
    token = api.tokens[Scope.ADMIN]
    with api.bridge.store.read() as db:
        kept = str(db.execute(select(tokens)).all())
    assert token not in kept and token[-32:] not in kept


def test_the_last_use_is_written_down_once_a_minute(api: Api) -> None:
    api.get("/jobs", scope=Scope.READ)
    store = api.bridge.store
    (used,) = [token.used_at for token in list_tokens(store) if token.name == "read"]
    assert used is not None and time.time() - used < 30
    api.get("/jobs", scope=Scope.READ)
    token = find_token(store, api.tokens[Scope.READ])
    assert token is not None and token.used_at == used
    note_use(store, token, used + 61)
    assert [one.used_at for one in list_tokens(store) if one.name == "read"] == [used + 61]


def test_tokens_are_made_listed_and_changed_over_http(api: Api) -> None:
    made = api("POST", "/tokens", {"name": "marketing", "scope": "submit"})
    assert made.status_code == 201
    token = made.get_json()["token"]
    assert token.startswith("shoal_")
    problem(api("POST", "/tokens", {"name": "marketing", "scope": "read"}), 409)
    listed = {one["name"]: one for one in api.get("/tokens")["tokens"]}
    assert listed["marketing"]["scope"] == "submit" and token not in str(listed)
    assert api("PATCH", f"/tokens/{made.get_json()['id']}", {"scope": "read"}).get_json()["scope"] == "read"
    answered = api.client.post("/api/v1/jobs", json={"urls": [URL]}, headers={"Authorization": f"Bearer {token}"})
    problem(answered, 403)
    problem(api("PATCH", "/tokens/nobody", {"scope": "read"}), 404)


def test_a_token_with_the_row_of_another_is_refused(api: Api) -> None:
    store = api.bridge.store
    token = add_token(store, "other", Scope.READ)
    with store.write() as db:
        db.execute(update(tokens).where(tokens.c.name == "other").values(hash="0" * 64))
    assert find_token(store, token) is None
