"""One page now: what is answered of it, what when it takes too long, and that waiting holds nobody up."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from shoal.control.thread_slots import slot
from shoal.store.job_removal import remove_job
from shoal.store.jobs import load_job
from tests.cli.crawling import until
from tests.control.calling import Api, problem
from tests.control.live import Live

URL = "https://example.com/"
FRONT = "Pebble & Pine No. 1 | Pebble & Pine No. 1"
RULES = {"name": "front", "start": ["http://127.0.0.1/"], "items": [{"fields": {"title": {"css": "title"}}}]}


def scraped(live: Live, url: str, **asked: Any) -> dict[str, Any]:
    status, told = live.call("POST", "/scrape", {"url": url, **asked})
    assert status == 200, told
    return dict(told)


def test_a_page_is_answered_in_every_format(live: Live) -> None:
    url = live.page(100)
    told = scraped(live, url, formats=["html", "text", "markdown", "page_markdown", "links", "metadata"])
    assert len(told["markdown"]) < len(told["page_markdown"])
    assert (told["outcome"], told["status"], told["final_url"], told["missing"]) == ("page", 200, url, {})
    assert told["html"].lstrip().lower().startswith("<!doctype html>")
    assert told["text"].startswith("Pebble & Pine") and told["title"].startswith("Pebble & Pine")
    assert "](" in told["markdown"] and told["metadata"] and len(told["links"]) > 5
    assert told["items"] is None


def test_only_what_was_asked_for_is_answered(live: Live) -> None:
    told = scraped(live, live.page(101))
    assert told["text"] and told["html"] is told["markdown"] is told["links"] is None


def test_rules_give_items_beside_every_format(live: Live) -> None:
    url = live.page(102)
    told = scraped(live, url, rules=RULES, formats=["html", "text", "markdown", "links", "metadata"])
    assert [(item["title"], item["_url"]) for item in told["items"]] == [(FRONT, url)]
    assert told["missing"] == {}
    plain = scraped(live, url, formats=["html", "text", "markdown", "links", "metadata"])
    for name in ("html", "text", "markdown", "links", "metadata"):
        assert told[name] and told[name] == plain[name], name


def test_rules_alone_give_items_and_no_format(live: Live) -> None:
    told = scraped(live, live.page(103), rules=RULES)
    assert len(told["items"]) == 1 and told["text"] is told["html"] is None and told["missing"] == {}


def test_a_page_that_is_not_there_is_answered_with_its_status(live: Live) -> None:
    told = scraped(live, live.site.url("/nowhere.html"))
    assert (told["outcome"], told["status"], told["text"]) == ("page", 404, None)
    assert told["missing"] == {"text": "the server answered 404"}


def test_a_host_that_does_not_answer_is_told_of(live: Live) -> None:
    told = scraped(live, "http://127.0.0.1:9/", timeout_s=60)
    assert told["outcome"] == "dead" and told["reason"] and "dead" in told["missing"]["text"]


def test_what_takes_longer_is_a_job_to_ask_for(api: Api) -> None:
    began = time.monotonic()
    answered = api("POST", "/scrape", {"url": URL, "timeout_s": 0.3})
    told = answered.get_json()
    assert answered.status_code == 202 and time.monotonic() - began >= 0.3
    assert told["state"] == "waiting" and "no worker" in told["limiting"]
    assert api.get(f"/jobs/{told['id']}")["lane"] == "express"


def test_a_job_that_is_removed_while_its_page_is_waited_for_is_not_there(api: Api) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api, "POST", "/scrape", {"url": URL, "timeout_s": 30})
        jobs = until(lambda: api.get("/jobs")["jobs"])
        with api.bridge.apart() as fleet:
            remove_job(fleet.store, fleet.archive, load_job(fleet.store, jobs[0]["id"]))
        problem(waiting.result(60), 404)


def test_when_many_wait_already_the_next_does_not(api: Api) -> None:
    with api.client.application.app_context(), ExitStack() as waiting:
        while waiting.enter_context(slot()):
            pass
        began = time.monotonic()
        assert api("POST", "/scrape", {"url": URL, "timeout_s": 60}).status_code == 202
        assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"url": "mailto:x"}, "url"),
        ({"url": URL, "formats": ["pdf"]}, "formats[0]"),
        ({"url": URL, "timeout_s": 0}, "timeout_s"),
        ({"url": URL, "rules": {"name": 1}}, "name"),
        ({"url": URL, "spider": "os:path"}, "spider"),
    ],
)
def test_what_cannot_be_scraped_is_refused_with_the_field_named(api: Api, asked: dict[str, Any], said: str) -> None:
    assert said in problem(api("POST", "/scrape", asked), 422)["detail"]


def test_a_page_can_be_rendered(api: Api) -> None:
    steps = [{"wait": ".item"}]
    order = {"url": URL, "render": "always", "rendering": {"steps": steps, "viewport": "mobile"}, "timeout_s": 0.01}
    told = api("POST", "/scrape", order).get_json()
    with api.bridge.apart() as fleet:
        spec = load_job(fleet.store, told["id"]).spec
    assert (spec.render, spec.rendering.viewport) == ("always", "mobile")
    assert spec.rendering.rendering.steps[0].value == ".item"
    wrong = api("POST", "/scrape", {**order, "rendering": {"steps": [{"wiat": ".item"}]}})
    assert "did you mean wait" in problem(wrong, 422)["detail"]
