"""A job's webhook over HTTP: asked for, checked and told of, without its secret."""

from __future__ import annotations

import pytest

from shoal.model import JobState, Webhook
from shoal.store.fleet.webhooks import claim_deliveries, note_fault
from shoal.store.jobs import load_job
from tests.control.calling import Api, problem
from tests.fleet.by_hand import FleetShell

URL = "https://example.com/"
HOOK = "https://hooks.example.com/shoal?utm_source=b&a"


def test_a_webhook_is_kept_as_it_is_spelt_and_its_secret_is_not_shown(api: Api, fleet: FleetShell) -> None:
    id = api.submit(URL, webhook={"url": HOOK, "secret": "s3cret"})
    assert load_job(api.bridge.store, id).spec.webhook == Webhook(HOOK, "s3cret")
    shown = api("GET", f"/jobs/{id}")
    assert shown.get_json()["webhook"] == {"delivered": 0, "waiting": 0, "given_up": 0, "fault": None}
    assert "s3cret" not in shown.text
    assert api("POST", f"/jobs/{id}/cancel").status_code == 200
    (due,) = claim_deliveries(api.bridge.store, 1e12, 10)
    assert due.payload["state"] == JobState.CANCELLED
    note_fault(api.bridge.store, due, 0.0, "it answered 500", for_good=True)
    assert api.get(f"/jobs/{id}")["webhook"] == {
        "delivered": 0,
        "waiting": 0,
        "given_up": 1,
        "fault": "it answered 500",
    }
    assert "1 given up: it answered 500" in fleet("job", id).out
    assert api("DELETE", f"/jobs/{id}").status_code == 204
    assert claim_deliveries(api.bridge.store, 2e12, 10) == []


@pytest.mark.parametrize("url", ["", "ftp://example.com/", "file:///etc/passwd", "no url"])
def test_a_webhook_that_is_no_http_url_is_refused(api: Api, url: str) -> None:
    problem(api("POST", "/jobs", {"urls": [URL], "webhook": {"url": url}}), 422)


def test_a_webhook_in_letters_of_any_kind_can_be_told(api: Api) -> None:
    id = api.submit(URL, webhook={"url": "https://häuser.example/ü?q=ä b"})
    hook = load_job(api.bridge.store, id).spec.webhook
    assert hook and hook.url == "https://xn--huser-gra.example/%C3%BC?q=%C3%A4%20b"


def test_a_job_without_a_webhook_says_so(api: Api) -> None:
    assert api.get(f"/jobs/{api.submit(URL)}")["webhook"] is None
