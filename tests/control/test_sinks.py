"""Sinks over the API: for admins only, without secrets, and only where a fleet can deliver."""

from __future__ import annotations

import pytest

from shoal.store.fleet.tokens import TokenScope
from tests.control.calling import Api, problem

RULES = {"start": ["https://x.test/"], "items": [{"name": "Book", "fields": {"title": "h1"}}]}
SINK = "postgresql://shoal:{secret:shop}@db.test/shop?table=books"


def test_a_job_over_the_api_names_sinks_and_no_secret(api: Api) -> None:
    answered = api("POST", "/jobs", {"rules": RULES, "sinks": [SINK]})
    assert answered.status_code == 201, answered.text
    job = answered.get_json()["id"]
    [sink] = api.get(f"/jobs/{job}")["sinks"]
    assert sink["url"].startswith("postgresql://shoal:***@db.test/shop")
    assert (sink["behind"], sink["delivered"], sink["refused"], sink["fault"]) == (0, 0, 0, None)


@pytest.mark.parametrize("in_rules", [True, False])
def test_only_an_admin_may_give_a_job_sinks(api: Api, in_rules: bool) -> None:
    body = {"rules": {**RULES, "options": {"sinks": [SINK]}}} if in_rules else {"rules": RULES, "sinks": [SINK]}
    refused = problem(api("POST", "/jobs", body, scope=TokenScope.SUBMIT), 403)
    assert "sinks" in refused["detail"]


def test_sinks_that_a_fleet_cannot_deliver_to_are_refused(api: Api) -> None:
    for sink, words in {
        "sqlite:///books.db": "a fleet has many machines",
        "file:///srv/books/": "a fleet has many machines",
        "os.path:Sink": "no module in SHOAL_SPIDERS",
        "postgresql://shoal:hush@db.test/shop": "a job never holds a password",
        "https://host.test/items#secret=hush": "secret is a secret",
    }.items():
        refused = problem(api("POST", "/jobs", {"rules": RULES, "sinks": [sink]}), 422)
        assert words in refused["detail"] and "hush" not in refused["detail"], refused
