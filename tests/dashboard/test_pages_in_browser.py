"""Every page in a real Chromium: no error, no rule of axe-core broken, nothing wider than the window, no script of a
site."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shoal.fleet.fleet import Fleet
from shoal.model import JobState, PageContent
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_state import set_state
from shoal.telemetry.log_files import path_of
from tests.control.live import Live
from tests.dashboard.accessibility import violations
from tests.dashboard.chromium import NARROW, WIDE, Tab
from tests.store.make import dead_letter, item_record, page

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"
SITE = "https://example.com/"


def pages_of(tab: Tab, url: str, job: str) -> list[str]:
    """The page of the job and each of its tabs."""
    tab.open(f"{url}/jobs/{job}")
    found: list[str] = tab.js("[...document.querySelectorAll('.tabs a')].map((link) => link.href)")
    assert len(found) > 5
    return found


def check(tab: Tab, url: str) -> None:
    tab.open(url)
    for width in (NARROW, WIDE):
        tab.resize(width)
        assert tab.overflow() <= 0, f"{url} at {width} px"
        for theme in ("light", "dark"):
            tab.theme(theme)
            assert violations(tab) == [], f"{url} at {width} px, {theme}"


@pytest.fixture(scope="module")
def crawled(live: Live) -> str:
    job = live.submit(live.site.url(), name="crawled", retries=0)
    live.fleet.until_ended(job)
    return job


def test_the_pages_of_a_fleet_have_no_error_and_pass_axe_in_both_themes(tab: Tab, live: Live, crawled: str) -> None:
    schedule = {"name": "nightly", "cron": "0 3 * * *", "job": {"urls": [SITE]}}
    assert live.call("POST", "/schedules", schedule)[0] == 201
    for url in (f"{live.url}/", f"{live.url}/fleet", *pages_of(tab, live.url, crawled)):
        check(tab, url)
    check(tab, f"{live.url}/jobs/{crawled}/explain?url={live.site.url('/' + 80 * 'a')}")
    tab.open(f"{live.url}/jobs/{crawled}/pages")
    check(tab, tab.js("document.querySelector('main tbody a').href"))
    assert "Text" in tab.text
    check(tab, f"{live.url}/login")
    assert tab.problems == []


def hostile_job(live: Live) -> str:
    """Markup and script wherever a site or a person can put them."""
    job = live.submit(SITE, name=MARKUP)
    log = path_of(live.fleet.home, "worker")
    event = {"at": "2026-01-02T03:04:05Z", "event": "x", "message": MARKUP, "job": job, "role": MARKUP, "pid": 7}
    with log.open("a") as file:
        file.write(json.dumps({**event, "level": MARKUP}) + "\n")

    async def fill(fleet: Fleet) -> None:
        content = PageContent(MARKUP, MARKUP, MARKUP, [MARKUP], {})
        items = [item_record(MARKUP, {MARKUP: MARKUP})]
        row = replace(
            page(1), job=job, url=SITE + MARKUP, title=MARKUP, host=MARKUP, items=items, content=content, parent=1
        )
        letter = replace(dead_letter(2), job=job, url=SITE + MARKUP, reason=MARKUP, host=MARKUP, detail=MARKUP)
        save(fleet.store, Batch(job, pages=[row], dead=[letter]))
        set_state(fleet.store, job, JobState.FAILED, 1_700_000_000.0, MARKUP)

    live.fleet.by_hand(fill)
    return job


def test_markup_of_a_site_shows_on_every_page_and_never_runs(tab: Tab, live: Live) -> None:
    job = hostile_job(live)
    shown = 0
    start = f"{live.url}/jobs/{job}"
    for url in (
        f"{live.url}/",
        *pages_of(tab, live.url, job),
        f"{start}/pages/{1:016x}",
        f"{start}/explain?url={SITE}",
    ):
        check(tab, url)
        assert "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}" in tab.text, url
        shown += tab.text.count("onerror=alert(2)")
        assert tab.js("document.querySelectorAll('main img[src=x], main script').length") == 0
    assert shown > 15
    assert (tab.dialogs, tab.problems) == ([], [])


def test_a_script_that_got_into_a_page_would_not_run(tab: Tab) -> None:
    """The policy is the second wall: what this test adds as a fault in a template would, stays dead."""
    tab.js(
        """document.getElementById("main").innerHTML = "<img src=x onerror='window.isRun = 1'>";
        document.getElementById("main").append(Object.assign(document.createElement("script"), {text: "isRun = 1"}))"""
    )
    tab.until("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/x'))")
    assert tab.js("window.isRun ?? null") is None
    assert [text for text in tab.problems if "Content Security Policy" in text]
