"""The dashboard of a fleet: only who is logged in sees it, forms are guarded, and scraped markup stays text."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from urllib.parse import unquote

import pytest
from werkzeug.test import TestResponse

from shoal import __version__
from shoal.control.login_links import login_link
from shoal.fleet.fleet import Fleet
from shoal.fleet.series_recorder import SeriesRecorder
from shoal.frontier.contract import Caller
from shoal.model import JobState, Landing, PageContent
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.fleet.scrapy_projects import remove_versions, save_version
from shoal.store.fleet.tokens import TokenScope, remove_token
from shoal.store.job_state import set_state
from shoal.store.jobs import load_job
from shoal.store.proxies.figures import ProxyFigures, add_proxy_figures
from shoal.telemetry.log_files import path_of
from tests.control.calling import Api
from tests.fleet.by_hand import FleetShell
from tests.store.make import dead_letter, item_record, page

BASE = "https://localhost"
PAGE = "https://example.com/"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"


class Browser:
    """Flask's client as a browser uses it: with cookies, over https."""

    def __init__(self, api: Api) -> None:
        self.client = api.client.application.test_client()

    def get(self, path: str) -> TestResponse:
        return self.client.get(path, base_url=BASE)

    def page(self, path: str) -> str:
        answered = self.get(path)
        assert answered.status_code == 200, answered.text
        return answered.text

    def log_in(self, token: str) -> TestResponse:
        return self.client.post("/login", data={"token": token, "next": "/fleet"}, base_url=BASE)

    def send(self, path: str, form: dict[str, str] | None = None, key: str | None = None) -> TestResponse:
        found = re.search('name="form_key" value="([0-9a-f]+)"', self.get("/").text)
        shown = found[1] if found else ""
        return self.client.post(path, data={**(form or {}), "form_key": shown if key is None else key}, base_url=BASE)

    @property
    def said(self) -> str:
        cookie = self.client.get_cookie("shoal_said", "localhost")
        return unquote(cookie.value) if cookie else ""


@pytest.fixture
def browser(api: Api) -> Browser:
    made = Browser(api)
    assert made.log_in(api.tokens[TokenScope.ADMIN]).status_code == 303
    return made


def with_scope(api: Api, scope: TokenScope) -> Browser:
    made = Browser(api)
    made.log_in(api.tokens[scope])
    return made


@pytest.mark.parametrize("path", ["/", "/fleet", "/jobs/last", "/jobs/last/items", "/jobs/last/explain?url=x"])
def test_without_a_login_every_page_leads_to_the_login_page_and_back(api: Api, path: str) -> None:
    answered = Browser(api).get(path)
    assert answered.status_code == 303 and answered.headers["Location"].startswith("/login?next=")
    assert "Token" in Browser(api).page("/login")


def test_after_an_action_without_a_login_the_login_leads_to_the_job(api: Api) -> None:
    for path, back in (("/jobs/last/pause", "/jobs/last"), ("/jobs", "/")):
        answered = Browser(api).client.post(path, base_url=BASE)
        assert answered.headers["Location"] == f"/login?next={back}"


def test_a_login_sets_a_cookie_that_no_script_and_no_other_site_can_use(api: Api) -> None:
    answered = Browser(api).log_in(api.tokens[TokenScope.READ])
    cookie = answered.headers["Set-Cookie"]
    assert answered.headers["Location"] == "/fleet"
    assert all(flag in cookie for flag in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/"))
    assert api.tokens[TokenScope.READ] not in cookie


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:1", ""])
def test_a_login_leads_to_no_other_site(api: Api, target: str) -> None:
    form = {"token": api.tokens[TokenScope.READ], "next": target}
    answered = Browser(api).client.post("/login", data=form, base_url=BASE)
    assert answered.headers["Location"] == "/"


def test_a_wrong_token_is_refused(api: Api) -> None:
    answered = Browser(api).log_in("shoal_wrong")
    assert answered.status_code == 401 and "not valid" in answered.text and "Set-Cookie" not in answered.headers


def test_a_login_link_works_once(api: Api) -> None:
    link = login_link(api.bridge.settings, "https://localhost")
    code = link.partition("code=")[2]
    assert "logs you in once" in Browser(api).page(f"/login?code={code}")
    first = Browser(api).client.post("/login", data={"code": code}, base_url=BASE)
    second = Browser(api).client.post("/login", data={"code": code}, base_url=BASE)
    assert (first.status_code, second.status_code) == (303, 401)


def test_a_logout_and_a_removed_token_end_the_session(api: Api, browser: Browser) -> None:
    reader = with_scope(api, TokenScope.READ)
    assert "Jobs" in reader.page("/")
    remove_token(api.bridge.store, TokenScope.READ)
    assert reader.get("/").status_code == 303
    assert browser.send("/logout").status_code == 303
    assert browser.get("/").status_code == 303


def test_a_form_without_the_key_of_the_session_changes_nothing(api: Api, browser: Browser) -> None:
    job = api.submit(PAGE)
    for key in ("", "0" * 64):
        assert browser.send(f"/jobs/{job}/cancel", key=key).status_code == 403
    assert load_job(api.bridge.store, job).state is JobState.QUEUED


def test_without_a_job_the_first_page_says_how_to_start_one(api: Api, browser: Browser) -> None:
    shown = browser.page("/")
    assert f"shoal --api {BASE} submit https://example.com/" in shown and 'name="urls"' in shown


def test_the_row_of_a_job_that_has_ended_changes_when_it_runs_again(api: Api, browser: Browser) -> None:
    job = api.submit(PAGE)
    for state in (JobState.RUNNING, JobState.DONE, JobState.RUNNING, JobState.FAILED):
        set_state(api.bridge.store, job, state, time.time())
        # A row that is not read soon is there at the next look.
        for _ in range(100):
            row = browser.page("/").partition(f'id="job-{job}"')[2].partition("</tr>")[0]
            if "is being read" not in row:
                break
        assert f"</span> {state}</span>" in row.replace("waiting", "running")
        assert ("waits: " in row) == (state is JobState.RUNNING)


def test_a_job_is_submitted_changed_paused_resumed_and_cancelled(api: Api, browser: Browser) -> None:
    form = {"urls": f"{PAGE}a\n{PAGE}b", "name": "books", "rate": "4", "max_pages": "7"}
    path = browser.send("/jobs", form).headers["Location"]
    job = load_job(api.bridge.store, path.rpartition("/")[2])
    assert (job.spec.name, job.spec.politeness.rate, job.spec.limits.pages) == ("books", 4, 7)
    assert "books" in browser.page("/") and "books" in browser.page(path)
    browser.send(f"{path}/change", {"rate": "1.5", "exclude": "*.pdf"})
    changed = load_job(api.bridge.store, job.id).spec
    assert (changed.politeness.rate, changed.exclude, changed.limits.pages) == (1.5, ("*.pdf",), 7)
    for verb, state in (("pause", JobState.PAUSED), ("resume", JobState.QUEUED), ("cancel", JobState.CANCELLED)):
        assert browser.send(f"{path}/{verb}").status_code == 303
        assert load_job(api.bridge.store, job.id).state is state and job.id in browser.said


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"urls": ""}, "there is no URL to start from"),
        ({"urls": PAGE, "rate": "fast"}, "rate is &#39;fast&#39;"),
        ({"urls": PAGE, "max_pages": "-1"}, "max_pages is -1"),
        ({"urls": "", "rules": "a: [b"}, "the rules are not YAML"),
        ({"urls": "ftp://example.com/"}, "ftp://example.com/"),
    ],
)
def test_a_bad_form_is_answered_with_the_field_and_the_way_out(
    browser: Browser, form: dict[str, str], words: str
) -> None:
    answered = browser.send("/jobs", form)
    assert answered.status_code == 422 and words in answered.text and "Back to the jobs" in answered.text


def test_a_reader_sees_jobs_and_changes_none(api: Api) -> None:
    reader, job = with_scope(api, TokenScope.READ), api.submit(PAGE)
    assert "Cancel" not in reader.page(f"/jobs/{job}") and "Submit a job" not in reader.page("/")
    key = re.search('name="form_key" value="([0-9a-f]+)"', reader.page("/"))
    assert key
    answered = reader.send(f"/jobs/{job}/cancel", key=key[1])
    assert answered.status_code == 403 and "scope submit" in answered.text
    assert load_job(api.bridge.store, job).state is JobState.QUEUED


def test_a_submitter_sees_only_its_own_jobs_and_no_token(api: Api) -> None:
    submitter, other = with_scope(api, TokenScope.SUBMIT), api.submit(PAGE, name="of-an-admin")
    assert "of-an-admin" not in submitter.page("/")
    assert submitter.get(f"/jobs/{other}").status_code == 404
    assert "Tokens" not in submitter.page("/fleet")


def log_event(api: Api, job: str, message: str) -> None:
    path = path_of(api.bridge.settings.home, "worker")
    path.parent.mkdir(exist_ok=True)
    event = {"at": "2026-01-02T03:04:05Z", "event": "x", "message": message, "job": job, "role": "worker", "pid": 7}
    path.write_text(json.dumps({**event, "level": "info"}) + "\n")


def hostile_job(api: Api) -> str:
    job = api.submit(PAGE, name=MARKUP)
    log_event(api, job, MARKUP)
    store = api.bridge.store
    content = PageContent(MARKUP, "en", MARKUP, [MARKUP], {})
    items = [item_record(MARKUP, {MARKUP: MARKUP})]
    fields = replace(page(1), job=job, url=PAGE + MARKUP, title=MARKUP, items=items, content=content)
    letter = replace(dead_letter(2), job=job, url=PAGE + MARKUP, reason=MARKUP, host=MARKUP, detail=MARKUP)
    save(store, Batch(job, pages=[fields], dead=[letter]))
    set_state(store, job, JobState.FAILED, 1_700_000_000.0, MARKUP)
    return job


@pytest.mark.parametrize(
    "tab",
    ["", "/errors", "/items", "/pages", "/skipped", "/options", "/log", f"/pages/{1:016x}", "/explain?url=" + PAGE],
)
def test_markup_of_a_site_is_shown_as_text(api: Api, browser: Browser, tab: str) -> None:
    answered = browser.get(f"/jobs/{hostile_job(api)}{tab}")
    assert answered.status_code == 200, answered.text
    assert "alert(1)" in answered.text, "the name of the job is shown"
    assert "<script>alert" not in answered.text and "<img" not in answered.text and "{{7*7}}" in answered.text
    assert "default-src 'self'" in answered.headers["Content-Security-Policy"]
    assert "style=" not in answered.text and "onclick" not in answered.text


def test_the_list_shows_markup_as_text_too(api: Api, browser: Browser) -> None:
    hostile_job(api)
    shown = browser.page("/")
    assert "alert(1)" in shown and "<script>alert" not in shown


def test_many_jobs_come_in_parts(api: Api, browser: Browser) -> None:
    for n in range(52):
        api.submit(PAGE, name=f"job-{n:02}")
    first = browser.page("/")
    assert first.count('id="job-') == 50 and "job-51" in first
    older = re.search(r'href="(/\?after=[^"]+)"', first)
    assert older and browser.page(older[1]).count('id="job-') == 2
    assert browser.get("/?after=nonsense").status_code == 422


def test_the_fleet_page_has_servers_lanes_schedules_and_tokens(api: Api, browser: Browser) -> None:
    schedule = {"name": "nightly", "cron": "0 3 * * *", "job": {"urls": [PAGE]}}
    assert api("POST", "/schedules", schedule).status_code == 201
    assert api("PUT", "/proxies/europe", {"text": "http://proxy.example:3128"}).status_code == 200
    shown = browser.page("/fleet")
    assert all(words in shown for words in ("Redis", "Database", "express", "nightly", "0 3 * * *", "admin", "europe"))
    assert "europe" not in with_scope(api, TokenScope.READ).page("/fleet")
    assert api.tokens[TokenScope.ADMIN] not in shown


def test_the_fleet_page_says_why_a_schedule_cannot_run(api: Api, browser: Browser) -> None:
    save_version(api.bridge.store, "<b>news", "1.0", b"", ["daily"], 1.0)
    order = {"name": "nightly", "cron": "@daily", "job": {"scrapy": {"project": "<b>news", "spider": "daily"}}}
    assert api("POST", "/schedules", order).status_code == 201
    remove_versions(api.bridge.store, "<b>news", None, 2.0)
    assert "cannot run: project &#39;&lt;b&gt;news&#39; was deleted" in browser.page("/fleet")


def test_the_proxies_that_succeed_least_come_first(api: Api, browser: Browser) -> None:
    for pool, successes in (("good", 9), ("bad", 1), ("unused", 0)):
        assert api("PUT", f"/proxies/{pool}", {"text": f"http://{pool}.example:3128"}).status_code == 200
        if successes:
            counts = 10, successes, 10 - successes, 0, 1, 0.0, (successes, *[0] * 8)
            used = ProxyFigures(pool, f"{pool}.example:3128", "", *counts, 1, 0.0, "<b>refused</b>", 1.0)
            add_proxy_figures(api.bridge.store, [used])
    shown = browser.page("/fleet").partition("<h2>Proxies</h2>")[2].partition("<h2>")[0]
    pools, failing = shown.split("Proxies that fail most", 1)
    assert re.findall('data-label="Pool">([a-z]+)<', pools) == ["bad", "good", "unused"]
    assert re.findall('data-label="Proxy">([a-z.]+):3128<', failing) == ["bad.example", "good.example"]
    assert "10.0 %" in failing and "&lt;b&gt;refused" in failing


def test_an_unknown_job_and_an_unknown_part_are_said_in_words(api: Api, browser: Browser) -> None:
    assert browser.get("/jobs/nothing").status_code == 404
    answered = browser.get(f"/jobs/{api.submit(PAGE)}/nothing")
    assert answered.status_code == 404 and "Back to the jobs" in answered.text


def test_a_page_is_shown_with_its_text_and_its_formats(api: Api, browser: Browser) -> None:
    job = api.submit(PAGE, formats=["markdown"])
    content = PageContent("about", "en", "Plain words", [], {"markdown": "# A heading"})
    save(api.bridge.store, Batch(job, pages=[replace(page(1), job=job, content=content)]))
    link = re.search(r'href="(/jobs/[^"]+/pages/[0-9a-f]{16})"', browser.page(f"/jobs/{job}/pages"))
    assert link
    shown = browser.page(link[1])
    assert all(words in shown for words in ("Plain words", "# A heading", "Markdown", "about"))
    assert browser.get(f"/jobs/{job}/pages/{2:016x}").status_code == 422
    assert browser.get(f"/jobs/{job}/pages/nonsense").status_code == 422


def test_items_and_pages_are_filtered_and_downloaded(api: Api, browser: Browser) -> None:
    job = api.submit(rules={"name": "r", "start": [PAGE], "items": [{"fields": {"t": "h1"}}]})
    books = [item_record("r", {"t": title}) for title in ("Pearl", "50%_off")]
    save(api.bridge.store, Batch(job, pages=[replace(page(1), job=job, items=books), replace(page(2), job=job)]))
    assert "Pearl" not in browser.page(f"/jobs/{job}/items?contains=0%25_O")
    assert "50%_off" in browser.page(f"/jobs/{job}/items?contains=0%25_O")
    assert "No item matches" in browser.page(f"/jobs/{job}/items?contains=x%25")
    assert browser.page(f"/jobs/{job}/pages?contains=test/2").count("/pages/00") == 1
    answered = browser.get(f"/jobs/{job}/export/items.csv")
    assert answered.text.split() == ["t", "Pearl", "50%_off"]
    assert answered.headers["Content-Disposition"] == f'attachment; filename="{job}-items.csv"'
    assert len(browser.get(f"/jobs/{job}/export/pages.jsonl").text.splitlines()) == 2
    assert browser.get(f"/jobs/{job}/export/items.exe").status_code == 404
    assert with_scope(api, TokenScope.SUBMIT).get(f"/jobs/{job}/export/items.csv").status_code == 404


def test_only_an_admin_sees_the_log_of_a_job(api: Api, browser: Browser) -> None:
    job = api.submit(PAGE)
    log_event(api, job, "something happened")
    assert "something happened" in browser.page(f"/jobs/{job}/log")
    assert "something happened" not in browser.page(f"/jobs/{api.submit(PAGE)}/log")
    assert "something happened" not in with_scope(api, TokenScope.READ).page(f"/jobs/{job}/log")


def test_links_that_look_endless_are_allowed_with_a_button(api: Api, browser: Browser) -> None:
    job = api.submit(PAGE)
    save(api.bridge.store, Batch(job, tallies={("skipped", "trap:calendar"): (9, f"{PAGE}2031-01")}))
    assert "Allow" in browser.page(f"/jobs/{job}/skipped")
    assert browser.send(f"/jobs/{job}/allow", {"rule": "calendar"}).status_code == 303
    assert load_job(api.bridge.store, job).spec.allow_traps == ("calendar",)
    assert "followed from now on" in browser.page(f"/jobs/{job}/skipped")


def test_a_running_job_shows_its_hosts_and_next_urls(api: Api, fleet: FleetShell, browser: Browser) -> None:
    job = api.submit(f"{PAGE}first", f"{PAGE}second", politeness={"robots": False})
    fleet.begin(job)
    fleet.lease()
    shown = browser.page(f"/jobs/{job}")
    assert f"{PAGE}second" in shown and 'id="host-example.com"' in shown


def test_the_fleet_page_has_processes_with_their_heartbeat_lanes_and_hosts_in_backoff(
    api: Api, fleet: FleetShell, browser: Browser
) -> None:
    fleet.man(slots=64, per_s=2.5, memory_bytes=5_000_000, browser_pages=4, browser_open=3, stopping=True)
    job = api.submit(PAGE, politeness={"robots": False})
    fleet.begin(job)
    (lease,) = fleet.lease()

    async def refuse(opened: Fleet) -> None:
        landing = Landing(lease.token, 0.1, 503, retry_after_s=600.0)
        await opened.frontier.landed(Caller("test").next(), [landing])

    fleet.by_hand(refuse)
    shown = re.sub(r"<[^>]+>", " ", browser.page("/fleet"))
    shown = " ".join(shown.split())
    assert "2.5 0 of 64 3 of 4 5.0 MB" in shown and "1 browser: 3 of 4 pages open" in shown
    assert "drains: finishes its requests and ends" in shown and "s ago" in shown and __version__ in shown
    assert re.search(r"Hosts in backoff Host .* example\.com .* \d\d:\d\d:\d\d", shown)
    assert re.search(r"Redis ✓ up [0-9.]+ ms", shown) and re.search(r"Database ✓ up [0-9.]+ ms", shown)


def test_the_charts_of_a_running_job_grow_by_the_minute(api: Api, fleet: FleetShell, browser: Browser) -> None:
    """Tend's rounds are played with a clock of the test; the pages come at one a second."""
    job = api.submit(PAGE)
    fleet.begin(job)
    began = int(time.time()) // 60 * 60 - 300
    now = float(began)

    async def play(opened: Fleet) -> None:
        nonlocal now
        async_store = AsyncStore(opened.store)
        recorder = SeriesRecorder(opened.frontier, async_store, lambda: now)
        for second in range(0, 240, 2):
            now = float(began + second)
            fetched = [replace(page(n), job=job, fetched_at=float(began + n)) for n in (second, second + 1)]
            save(opened.store, Batch(job, pages=fetched))
            await recorder.record(load_job(opened.store, job))
        async_store.close()

    assert "Charts appear" in browser.page(f"/jobs/{job}")
    fleet.by_hand(play)
    points = api.get(f"/jobs/{job}/series")["points"]
    # The last minute and its pages are not recorded yet: they are counted when somebody looks.
    assert [point["pages"] for point in points] == [60, 60, 60, 60]
    assert [point["queue"] for point in points] == [1, 1, None, None]
    shown = browser.page(f"/jobs/{job}")
    assert shown.count('class="chart"') == 4 and "Pages a second: 1.0 pages/s" in shown
