"""Who may do what: a token always, its scope, and what only an admin may ask for."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import select, update

from shoal.control.app import ROUTES
from shoal.store.fleet.tokens import TokenScope, add_token, find_token, list_tokens, note_use
from shoal.store.tables import tokens
from tests.control.calling import Api, problem

URL = "https://example.com/"


def test_every_api_call_needs_a_token(api: Api) -> None:
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
def test_an_unknown_token_is_refused(api: Api, given: str) -> None:
    header = given.format(token=api.tokens[TokenScope.ADMIN])
    problem(api.client.get("/api/v1/jobs", headers={"Authorization": header}), 401)


def test_a_removed_token_is_refused_at_once(api: Api) -> None:
    api.get("/jobs", scope=TokenScope.READ)
    assert api("DELETE", "/tokens/read").status_code == 204
    problem(api("GET", "/jobs", scope=TokenScope.READ), 401)
    problem(api("DELETE", "/tokens/read"), 404)


def test_a_read_token_cannot_submit_and_a_submit_token_is_not_admin(api: Api) -> None:
    assert "submit" in problem(api("POST", "/jobs", {"urls": [URL]}, TokenScope.READ), 403)["detail"]
    made = api("POST", "/jobs", {"urls": [URL]}, TokenScope.SUBMIT)
    assert made.status_code == 201
    problem(api("POST", f"/jobs/{made.get_json()['id']}/cancel", scope=TokenScope.READ), 403)
    for method, path in (("GET", "/tokens"), ("POST", "/tokens"), ("PATCH", "/hosts/example.com")):
        problem(api(method, path, {}, TokenScope.SUBMIT), 403)


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
def test_impolite_or_private_options_need_an_admin(api: Api, options: dict[str, Any]) -> None:
    assert "admin" in problem(api("POST", "/jobs", {"urls": [URL], **options}, TokenScope.SUBMIT), 403)["detail"]
    assert api("POST", "/jobs", {"urls": [URL], **options}).status_code == 201


@pytest.mark.parametrize("options", ADMINS, ids=lambda options: next(iter(options)))
def test_only_an_admin_appends_urls_to_a_job_with_admin_options(shared_api: Api, options: dict[str, Any]) -> None:
    job = shared_api.submit(URL, **options)
    lines = {"data": URL + "b", "headers": {"Content-Type": "text/plain"}}
    assert "admin" in problem(shared_api("POST", f"/jobs/{job}/urls", [URL + "a"], TokenScope.SUBMIT), 403)["detail"]
    problem(shared_api("POST", f"/jobs/{job}/urls", scope=TokenScope.SUBMIT, **lines), 403)
    problem(shared_api("PATCH", f"/jobs/{job}", {"include": ["*"]}, TokenScope.SUBMIT), 403)
    problem(shared_api("PATCH", f"/jobs/{job}", {"scope": "any"}, TokenScope.SUBMIT), 403)
    assert shared_api("PATCH", f"/jobs/{job}", {"priority": 1}, TokenScope.SUBMIT).status_code == 200
    assert shared_api("POST", f"/jobs/{job}/urls", [URL + "a"]).get_json()["accepted"] == 1


def test_only_an_admin_raises_limits_of_a_job_with_admin_options(shared_api: Api) -> None:
    limits = {"pages": 5, "depth": 1, "bytes": 9_000, "seconds": 60, "pages_per_host": 3}
    job = shared_api.submit(URL, headers={"X-Team": "a"}, limits=limits)
    for name, limit in limits.items():
        for more in (limit + 1, None):
            change = {"limits": {name: more}}
            assert "headers" in problem(shared_api("PATCH", f"/jobs/{job}", change, TokenScope.SUBMIT), 403)["detail"]
            problem(shared_api("PATCH", f"/jobs/{job}?preview=true", change, TokenScope.SUBMIT), 403)
    assert (
        shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": 4, "depth": 0}}, TokenScope.SUBMIT).status_code == 200
    )
    problem(shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": 5}}, TokenScope.SUBMIT), 403)
    assert shared_api("PATCH", f"/jobs/{job}", {"limits": {"pages": None}}).status_code == 200
    anyones = shared_api.submit(URL, limits=limits)
    assert shared_api("PATCH", f"/jobs/{anyones}", {"limits": {"pages": None}}, TokenScope.SUBMIT).status_code == 200


def test_only_an_admin_appends_urls_to_a_job_with_a_password(shared_api: Api) -> None:
    job = shared_api.submit("https://ann:hush@example.com/")
    answered = shared_api("POST", f"/jobs/{job}/urls", [URL + "a"], TokenScope.SUBMIT)
    assert "credentials" in problem(answered, 403)["detail"] and "hush" not in answered.text


def test_rules_cannot_contain_admin_options(api: Api) -> None:
    rules = {"name": "books", "start": [URL], "items": [{"fields": {"title": "h1"}}]}
    for options in ({"allow_private": True}, {"ignore_robots": True}, {"rate": 0}, {"header": ["X: y"]}):
        problem(api("POST", "/jobs", {"rules": {**rules, "options": options}}, TokenScope.SUBMIT), 403)
    # Not to be passed by what is no mapping, either.
    problem(api("POST", "/jobs", {"rules": {**rules, "options": ["allow_private"]}}, TokenScope.SUBMIT), 422)
    assert api("POST", "/jobs", {"rules": {**rules, "options": {"rate": 10}}}, TokenScope.SUBMIT).status_code == 201


def test_only_the_hash_of_a_token_is_stored(api: Api) -> None:
    token = api.tokens[TokenScope.ADMIN]
    with api.bridge.store.read() as db:
        kept = str(db.execute(select(tokens)).all())
    assert token not in kept and token[-32:] not in kept


def test_the_last_use_is_stored_once_a_minute(api: Api) -> None:
    api.get("/jobs", scope=TokenScope.READ)
    store = api.bridge.store
    (used,) = [token.used_at for token in list_tokens(store) if token.name == "read"]
    assert used is not None and time.time() - used < 30
    api.get("/jobs", scope=TokenScope.READ)
    token = find_token(store, api.tokens[TokenScope.READ])
    assert token is not None and token.used_at == used
    note_use(store, token, used + 61)
    assert [one.used_at for one in list_tokens(store) if one.name == "read"] == [used + 61]


def test_tokens_are_created_listed_and_changed_over_http(api: Api) -> None:
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
    token = add_token(store, "other", TokenScope.READ)
    with store.write() as db:
        db.execute(update(tokens).where(tokens.c.name == "other").values(hash="0" * 64))
    assert find_token(store, token) is None
