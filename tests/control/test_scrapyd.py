"""scrapyd's API as its documentation has it: names and types of fields, words of errors, states of jobs."""

from __future__ import annotations

import base64
import io
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from shoal.control.scrapyd.projects import PACKAGE_BYTES
from shoal.control.scrapyd.spider_lists import spiders_of_package
from shoal.errors import UsageError
from shoal.fleet.scrapy_logs import scrapy_logs
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.model import PACKAGE, JobState, Requester, ScrapyRun
from shoal.store.fleet.scrapy_projects import (
    KEEP_S,
    package_content,
    remove_unused_packages,
    remove_versions,
    save_version,
    versions_of,
)
from shoal.store.fleet.tokens import TokenScope, add_token
from shoal.store.job_state import set_state
from shoal.store.jobs import find_job, load_job
from tests.control.calling import Api, api_over, forget_submits
from tests.control.eggs import egg, packed, project_files, wheel
from tests.fleet.by_hand import FleetShell
from tests.fleet.fire_schedules import fire

SUBMIT, READ, ADMIN = TokenScope.SUBMIT, TokenScope.READ, TokenScope.ADMIN
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")


@dataclass
class Scrapyd:
    api: Api
    prefix: str = "/scrapyd"

    @property
    def client(self) -> FlaskClient:
        return self.api.client

    def send(self, method: str, path: str, token: str | None, **named: Any) -> TestResponse:
        basic = base64.b64encode(f"anybody:{token}".encode()).decode()
        headers = {**({} if token is None else {"Authorization": f"Basic {basic}"}), **named.pop("headers", {})}
        return self.client.open(f"{self.prefix}{path}", method=method, headers=headers, **named)

    def get(self, name: str, scope: TokenScope = ADMIN, **query: str) -> dict[str, Any]:
        return self._told(self.send("GET", f"/{name}.json", self.api.tokens[scope], query_string=query))

    def post(self, name: str, scope: TokenScope = ADMIN, **form: Any) -> dict[str, Any]:
        return self._told(self.send("POST", f"/{name}.json", self.api.tokens[scope], data=form))

    def upload(self, project: str, version: str, package: bytes) -> dict[str, Any]:
        return self.post("addversion", project=project, version=version, egg=(io.BytesIO(package), "project.egg"))

    def keep(self, project: str, version: str, *spiders: str) -> None:
        """Of an egg, without asking its code what spiders it has."""
        save_version(self.api.bridge.store, project, version, egg(*spiders), list(spiders), time.time())

    def refused(self, name: str, **form: Any) -> str:
        told = self.post(name, **form)
        assert told.keys() == {"status", "message"} and told["status"] == "error", told
        return str(told["message"])

    def schedule(self, scope: TokenScope = ADMIN, **form: Any) -> str:
        told = self.post("schedule", scope, **{"project": "news", "spider": "daily", **form})
        assert told["status"] == "ok", told
        return str(told["jobid"])

    def plan(self, name: str, scope: TokenScope = SUBMIT, **given: Any) -> TestResponse:
        """A schedule of that name."""
        job = {"scrapy": {"project": "news", "spider": "daily", **given}}
        return self.api("POST", "/schedules", {"name": name, "cron": "@yearly", "job": job}, scope)

    def run_planned(self, name: str) -> dict[str, Any]:
        """The run of a schedule whose job is due now."""
        assert self.api("POST", f"/schedules/{name}/run").status_code == 202
        fire(self.api.bridge.store, self.api.bridge.settings)
        return dict(self.api.get(f"/schedules/{name}")["runs"][0])

    def job(self, jobid: str) -> str:
        """Shoal's id of a job that was just scheduled."""
        job = find_job(self.api.bridge.store, "last")
        assert job.spec.scrapy_run is not None and job.spec.scrapy_run.jobid == jobid
        return job.id

    def set_state(self, job: str, *states: JobState) -> None:
        for state in states:
            set_state(self.api.bridge.store, job, state, time.time())

    @staticmethod
    def _told(answered: TestResponse) -> dict[str, Any]:
        assert answered.status_code == 200, answered.text
        assert answered.content_type == "application/json" and answered.text.endswith("}\n")
        told: dict[str, Any] = answered.get_json()
        assert isinstance(told.pop("node_name"), str)
        return told


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """A project of the operator."""
    folder = tmp_path / "own"
    for name, text in project_files("weekly", package="own").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = own.settings\n")
    return folder


@pytest.fixture
def scrapyd(fleet: FleetShell, declared: Path) -> Iterator[Scrapyd]:
    forget_submits(fleet.redis)
    projects = {"own": str(declared), "afar": "/nowhere/afar"}
    with api_over(replace(fleet.settings, scrapy_uploads=True, scrapy_projects=projects)) as api:
        yield Scrapyd(api)


@pytest.fixture
def news(scrapyd: Scrapyd) -> Scrapyd:
    """With a project as an upload leaves it; listing its spiders anew would take longer than most tests."""
    scrapyd.keep("news", "1.0", "daily", "hourly")
    return scrapyd


def test_projects_versions_and_spiders_are_listed_in_the_order_of_versions(news: Scrapyd) -> None:
    assert news.upload("news", "1.10", egg("daily")) == {"status": "ok", "spiders": 1}
    news.keep("news", "1.9", "daily")
    assert news.get("listprojects") == {"status": "ok", "projects": ["afar", "news", "own"]}
    assert news.get("listversions", project="news") == {"status": "ok", "versions": ["1.0", "1.9", "1.10"]}
    assert news.get("listversions", project="own") == {"status": "ok", "versions": []}
    assert news.get("listspiders", READ, project="news") == {"status": "ok", "spiders": ["daily"]}
    assert news.get("listspiders", project="news", _version="1.0")["spiders"] == ["daily", "hourly"]
    assert news.get("listspiders", project="own")["spiders"] == ["weekly"]
    assert "does not have" in news.get("listspiders", project="afar")["message"]
    assert news.get("daemonstatus") == {"status": "ok", "pending": 0, "running": 0, "finished": 0}


def test_the_same_calls_are_at_the_root(news: Scrapyd) -> None:
    root = Scrapyd(news.api, "")
    assert root.get("listprojects") == news.get("listprojects")
    jobid = root.schedule(jobid="a")
    assert root.get("status", job=jobid) == {"status": "ok", "currstate": "pending"}


def test_a_job_is_pending_then_running_then_finished(news: Scrapyd, fleet: FleetShell) -> None:
    settings = ["DOWNLOAD_DELAY=2", "MAIL_PASS=x"]
    asked: dict[str, Any] = {
        "setting": settings,
        "priority": "2.4",
        "city": "Rome",
        "_version": "1.0",
        "jobid": "monday/1",
    }
    assert news.schedule(**asked) == "monday/1"
    job = news.job("monday/1")
    about = {"id": "monday/1", "project": "news", "spider": "daily"}
    shown = {"settings": {"DOWNLOAD_DELAY": "2", "MAIL_PASS": "***"}, "args": {"city": "Rome"}}
    listed = news.get("listjobs", project="news")
    assert listed == {
        "status": "ok",
        "pending": [{**about, "version": "1.0", **shown}],
        "running": [],
        "finished": [],
    }
    assert "spider daily of news 1.0, jobid monday/1" in fleet("job", job).out
    assert "SHOAL_SCRAPY_UPLOADS=on and room" in news.api.get(f"/jobs/{job}")["limiting"]
    spec = load_job(news.api.bridge.store, job).spec
    assert spec.scrapy_run is not None and spec.priority == 2
    assert spec.scrapy_run.arguments == {"city": "Rome", "_job": "monday/1"}
    news.set_state(job, JobState.RUNNING)
    fleet.by_hand(lambda made: OwnWorkers(made.frontier.connection, job).beat("scrapy-my-host-4711-ff"))
    (running,) = news.get("listjobs")["running"]
    assert TIME.fullmatch(running.pop("start_time"))
    items_url = "/scrapyd/items/news/daily/monday%2F1.jl"
    assert running == {**about, "pid": 4711, "log_url": None, "items_url": items_url}
    assert news.get("status", job="monday/1", project="news")["currstate"] == "running"
    assert news.get("daemonstatus") == {"status": "ok", "pending": 0, "running": 1, "finished": 0}
    news.set_state(job, JobState.DONE)
    (finished,) = news.get("listjobs", project="news")["finished"]
    assert TIME.fullmatch(finished.pop("start_time")) and TIME.fullmatch(finished.pop("end_time"))
    assert finished == {**about, "log_url": None, "items_url": items_url}
    assert news.get("status", job="monday/1")["currstate"] == "finished"
    assert news.get("status", job="nobody") == {"status": "ok", "currstate": None}


def test_a_job_without_an_id_gets_shoals(news: Scrapyd) -> None:
    jobid = news.schedule()
    assert load_job(news.api.bridge.store, jobid).spec.name == "daily"


def test_cancel_tells_the_state_before(news: Scrapyd) -> None:
    pending, running = news.schedule(), news.schedule()
    news.set_state(running, JobState.RUNNING)
    assert news.post("cancel", project="news", job=pending) == {"status": "ok", "prevstate": "pending"}
    assert news.post("cancel", project="news", job=running, signal="KILL")["prevstate"] == "running"
    assert news.post("cancel", project="news", job=running) == {"status": "ok", "prevstate": None}
    assert load_job(news.api.bridge.store, pending).state is JobState.CANCELLED
    # scrapyd forgets a job that never began.
    assert news.get("status", job=pending)["currstate"] is None
    assert [job["id"] for job in news.get("listjobs")["finished"]] == [running]


def test_a_project_of_the_operator_is_scheduled_by_its_folder(scrapyd: Scrapyd, declared: Path) -> None:
    jobid = scrapyd.schedule(SUBMIT, project="own", spider="weekly")
    run = load_job(scrapyd.api.bridge.store, jobid).spec.scrapy_run
    assert run is not None and (run.project, run.version, run.package) == (str(declared), None, None)
    assert scrapyd.refused("schedule", project="own", spider="daily") == "spider 'daily' not found"
    # Only its workers know what spiders it has.
    assert scrapyd.schedule(project="afar", spider="any")
    for name in ("delproject", "delversion", "addversion"):
        told = scrapyd.refused(name, project="own", version="1", egg=(io.BytesIO(egg("a")), "a.egg"))
        assert "SHOAL_SCRAPY_PROJECTS" in told


def test_what_an_unfinished_job_needs_outlives_its_version(news: Scrapyd) -> None:
    store = news.api.bridge.store
    jobid = news.schedule()
    run = load_job(store, jobid).spec.scrapy_run
    assert run is not None and run.package is not None
    assert news.post("delversion", project="news", version="1.0") == {"status": "ok"}
    assert news.get("listprojects")["projects"] == ["afar", "own"]
    remove_unused_packages(store, time.time() + KEEP_S + 60)
    assert package_content(store, run.package) == egg("daily", "hourly")
    # The project is gone, but its jobs can be seen and cancelled.
    assert [job["version"] for job in news.get("listjobs", project="news")["pending"]] == ["1.0"]
    assert news.post("cancel", project="news", job=jobid)["prevstate"] == "pending"
    remove_unused_packages(store, time.time())
    assert package_content(store, run.package) is not None, "a job may be about to use it"
    remove_unused_packages(store, time.time() + KEEP_S + 60)
    assert package_content(store, run.package) is None


def test_a_version_is_replaced_by_an_upload_and_jobs_keep_the_old(news: Scrapyd) -> None:
    jobid = news.schedule(spider="hourly")
    news.upload("news", "1.0", egg("daily", "weekly"))
    assert news.get("listspiders", project="news")["spiders"] == ["daily", "weekly"]
    assert news.refused("schedule", project="news", spider="hourly") == "spider 'hourly' not found"
    run = load_job(news.api.bridge.store, jobid).spec.scrapy_run
    assert run is not None and run.package is not None
    assert package_content(news.api.bridge.store, run.package) == egg("daily", "hourly")


def test_delproject_deletes_all_versions(news: Scrapyd) -> None:
    assert news.upload("news", "2", wheel("daily")) == {"status": "ok", "spiders": 1}
    assert news.post("delproject", project="news") == {"status": "ok"}
    assert news.refused("delproject", project="news") == "project 'news' not found"
    assert news.get("listversions", project="news")["versions"] == []


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("schedule", {}, "'project' parameter is required"),
    ("schedule", {"project": "news"}, "'spider' parameter is required"),
    ("schedule", {"project": "none", "spider": "daily"}, "project 'none' not found"),
    ("schedule", {"project": "news", "spider": "none"}, "spider 'none' not found"),
    ("schedule", {"project": "news", "spider": "daily", "_version": "9"}, "version '9' not found"),
    ("schedule", {"project": "own", "spider": "weekly", "_version": "9"}, "version '9' not found"),
    (
        "schedule",
        {"project": "news", "spider": "daily", "priority": "x"},
        "priority is invalid: could not convert string to float: 'x'",
    ),
    ("schedule", {"project": "news", "spider": "daily", "priority": "nan"}, "priority is invalid: nan orders nothing"),
    (
        "schedule",
        {"project": "news", "spider": "daily", "setting": "X"},
        "setting is invalid: 'X' is not NAME=VALUE",
    ),
    (
        "schedule",
        {"project": "news", "spider": "daily", "setting": "SHOAL_PROCESSES=0"},
        "setting is invalid: SHOAL_PROCESSES=0: give a number from 1 to 1000",
    ),
    (
        "schedule",
        {"project": "news", "spider": "a\0"},
        "spider is invalid: it is not text in UTF-8, or contains a NUL",
    ),
    (
        "schedule",
        {"project": "news", "spider": "daily", "jobid": "x" * 201},
        "jobid is invalid: it has more than 200 characters",
    ),
    ("cancel", {"project": "news"}, "'job' parameter is required"),
    ("cancel", {"project": "none", "job": "1"}, "project 'none' not found"),
    ("delversion", {"project": "news", "version": "9"}, "version '9' not found"),
    ("delversion", {"project": "none", "version": "9"}, "project 'none' not found"),
    ("delproject", {"project": "none"}, "project 'none' not found"),
    ("addversion", {"project": "x", "version": "1"}, "'egg' parameter is required"),
    (
        "addversion",
        {"project": "x", "version": "1", "egg": "path"},
        "egg is not a ZIP file (if using curl, use egg=@path not egg=path)",
    ),
    (
        "addversion",
        {"project": "../x", "version": "1", "egg": "path"},
        "project is invalid: give 1 to 200 characters without slashes and control characters",
    ),
]


def test_what_is_wrong_is_said_in_scrapyds_words(news: Scrapyd) -> None:
    for name, form, message in REFUSALS:
        assert news.refused(name, **form) == message, (name, form)
    queries: list[tuple[str, dict[str, Any], str]] = [
        ("listspiders", {}, "'project' parameter is required"),
        ("listspiders", {"project": "none"}, "project 'none' not found"),
        ("listspiders", {"project": "news", "_version": "9"}, "version '9' not found"),
        ("listjobs", {"project": "none"}, "project 'none' not found"),
        ("status", {}, "'job' parameter is required"),
        ("status", {"job": "1", "project": "none"}, "project 'none' not found"),
    ]
    for name, query, message in queries:
        assert news.get(name, **query) == {"status": "error", "message": message}


def test_bodies_that_are_no_forms_are_answered_with_an_error(news: Scrapyd) -> None:
    token = news.api.tokens[ADMIN]
    for media, body in (
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent"),
        ("application/json", b"{}"),
        ("application/x-www-form-urlencoded", b"project=%ff&spider=%zz"),
        ("application/x-www-form-urlencoded", b"&".join([b"a=b"] * 2_000)),
        ("", b"\xff\x00"),
    ):
        for name in ("schedule", "cancel", "addversion", "delversion"):
            answered = news.send("POST", f"/{name}.json", token, data=body, content_type=media)
            assert answered.status_code == 200 and answered.get_json()["status"] == "error", (media, answered.text)


def test_a_form_may_have_the_bytes_of_an_egg_as_scrapydweb_sends_them(news: Scrapyd) -> None:
    told = news.post("addversion", project="web", version="1", egg=egg("daily").decode("latin-1"))
    assert told["status"] == "error", "the test's own client would encode them as text"
    quoted = "".join(f"%{byte:02X}" for byte in egg("daily"))
    answered = news.send(
        "POST",
        "/addversion.json",
        news.api.tokens[ADMIN],
        data=f"project=web&version=1&egg={quoted}",
        content_type="application/x-www-form-urlencoded",
    )
    assert answered.get_json()["spiders"] == 1, answered.text


def test_who_may_call_what(news: Scrapyd) -> None:
    read, submit = news.api.tokens[READ], news.api.tokens[SUBMIT]
    for token in (None, "", "shoal_wrong"):
        answered = news.send("GET", "/listprojects.json", token)
        assert answered.status_code == 401 and answered.headers["WWW-Authenticate"].startswith("Basic ")
        assert answered.get_json()["status"] == "error" and "token" in answered.get_json()["message"]
    bearer = {"Authorization": f"Bearer {read}"}
    assert news.send("GET", "/listprojects.json", None, headers=bearer).status_code == 200
    form = {"project": "news", "spider": "daily", "version": "1.0", "job": "1", "egg": "x"}
    for token, names in ((read, ("schedule", "cancel")), (submit, ("addversion", "delversion", "delproject"))):
        for name in names:
            answered = news.send("POST", f"/{name}.json", token, data=form)
            assert answered.status_code == 403 and "scope" in answered.get_json()["message"], name
    other_site = {"Origin": "https://evil.example"}
    answered = news.send("POST", "/cancel.json", submit, data=form, headers=other_site)
    assert answered.status_code == 403 and "evil.example" in answered.get_json()["message"]
    assert news.get("listversions", project="news")["versions"] == ["1.0"]
    # The rest of the API takes no passwords, which browsers would send by themselves.
    assert Scrapyd(news.api, "/api/v1").send("GET", "/jobs", read).status_code == 401


def test_a_submitter_sees_only_its_own_jobs(news: Scrapyd) -> None:
    bob = add_token(news.api.bridge.store, "bob", SUBMIT)
    mine, admins = news.schedule(SUBMIT, jobid="a"), news.schedule(ADMIN, jobid="b")

    def of_bob(path: str, **form: str) -> Any:
        return news.send("POST" if form else "GET", path, bob, data=form or None).get_json()

    assert of_bob("/listjobs.json")["pending"] == [] and of_bob("/daemonstatus.json")["pending"] == 0
    assert of_bob(f"/status.json?job={mine}")["currstate"] is None
    assert of_bob("/cancel.json", project="news", job=mine)["prevstate"] is None
    assert [job["id"] for job in news.get("listjobs", SUBMIT)["pending"]] == [mine]
    assert [job["id"] for job in news.get("listjobs", READ)["pending"]] == [mine, admins]
    assert news.post("cancel", SUBMIT, project="news", job=admins)["prevstate"] is None
    assert news.post("cancel", SUBMIT, project="news", job=mine)["prevstate"] == "pending"
    assert news.send("GET", "/items/news/daily/b.jl", bob).status_code == 404
    assert news.send("GET", "/items/news/daily/b.jl", news.api.tokens[READ]).status_code == 200


@pytest.mark.parametrize(
    ("form", "is_free"),
    [
        ({"setting": "LOG_LEVEL=INFO", "city": "Rome"}, True),
        ({"setting": "DOWNLOAD_DELAY=0.1"}, True),
        ({"setting": "DOWNLOAD_DELAY=0.05"}, False),
        ({"setting": "DOWNLOAD_DELAY=none"}, False),
        ({"setting": "ROBOTSTXT_OBEY=0"}, False),
        ({"setting": "STATS_CLASS=subprocess.Popen"}, False),
        ({"setting": "SHOAL_PROCESSES=9"}, False),
        ({"download_delay": "0"}, False),
    ],
)
def test_a_submitter_may_not_choose_code_or_politeness(news: Scrapyd, form: dict[str, str], is_free: bool) -> None:
    asked = {"project": "news", "spider": "daily", **form}
    answered = news.send("POST", "/schedule.json", news.api.tokens[SUBMIT], data=asked)
    assert answered.status_code == (200 if is_free else 403), answered.text
    assert news.post("schedule", ADMIN, **asked)["status"] == "ok"


def test_a_project_is_submitted_as_any_job(news: Scrapyd) -> None:
    given = {"project": "news", "spider": "daily", "arguments": {"city": "Rome"}, "settings": {"LOG_LEVEL": "INFO"}}
    order = {"scrapy": given, "max_pages": 5, "name": "romans", "lane": "slow"}
    answered = news.api("POST", "/jobs", order, SUBMIT, headers={"Idempotency-Key": "k1"})
    assert answered.status_code == 201, answered.text
    assert news.api("POST", "/jobs", order, SUBMIT, headers={"Idempotency-Key": "k1"}).get_json() == answered.get_json()
    id = answered.get_json()["id"]
    spec = load_job(news.api.bridge.store, id).spec
    run = spec.scrapy_run
    assert (spec.scrapy, spec.name, spec.limits.pages, spec.lane.value) == ("daily", "romans", 5, "slow")
    assert run is not None and run.package is not None and (run.processes, run.version) == (1, "1.0")
    assert (run.arguments, run.settings) == ({"city": "Rome", "_job": id}, {"LOG_LEVEL": "INFO"})
    assert news.get("status", job=id)["currstate"] == "pending"


@pytest.mark.parametrize(
    ("given", "more", "status", "said"),
    [
        ({"project": "sports"}, {}, 422, "this fleet has the projects afar, news, own"),
        ({"project": "news", "version": "9"}, {}, 422, "version '9' not found"),
        ({"spider": "weekly"}, {}, 422, "spider 'weekly' not found"),
        ({}, {"rate": 2}, 422, "--rate: not for a Scrapy project"),
        ({}, {"urls": []}, 422, "its own start URLs"),
        ({"processes": 2}, {}, 403, "more than one process"),
        ({"settings": {"ROBOTSTXT_OBEY": "0"}}, {}, 403, "ROBOTSTXT_OBEY"),
        ({"arguments": {"download_delay": "0"}}, {}, 403, "download_delay"),
    ],
)
def test_what_a_submitted_project_may_not_be(
    news: Scrapyd, given: dict[str, Any], more: dict[str, Any], status: int, said: str
) -> None:
    order = {"scrapy": {"project": "news", "spider": "daily", **given}, **more}
    answered = news.api("POST", "/jobs", order, SUBMIT)
    assert answered.status_code == status and said in answered.text, answered.text


def test_schedules_take_projects_of_the_operator(news: Scrapyd, declared: Path) -> None:
    planned = news.plan("nightly", project="own", spider="weekly")
    assert planned.status_code == 201 and planned.get_json()["job"]["spider"] == "weekly", planned.text
    id = news.run_planned("nightly")["job"]
    spec = load_job(news.api.bridge.store, id).spec
    assert spec.scrapy_run == ScrapyRun(str(declared), {"_job": id}, {}, 1, "own", None, id)
    assert [job["id"] for job in news.get("listjobs", project="own")["pending"]] == [id]


def test_the_version_of_a_scheduled_job_is_chosen_when_it_is_due(news: Scrapyd) -> None:
    store = news.api.bridge.store
    latest = news.plan("latest", arguments={"city": "Rome"})
    pinned = news.plan("pinned", version="1.0")
    assert (latest.status_code, pinned.status_code) == (201, 201), latest.text + pinned.text
    shown = [one.get_json()["job"] for one in (latest, pinned)]
    assert [(job["project"], job["version"]) for job in shown] == [("news", None), ("news", "1.0")]
    news.keep("news", "1.1", "daily")
    packages = {one.version: f"{PACKAGE}{one.package}" for one in versions_of(store, "news")}
    first, second = news.run_planned("latest")["job"], news.run_planned("pinned")["job"]
    arguments = {"city": "Rome", "_job": first}
    assert load_job(store, first).spec.scrapy_run == ScrapyRun(packages["1.1"], arguments, {}, 1, "news", "1.1", first)
    run = load_job(store, second).spec.scrapy_run
    assert run == ScrapyRun(packages["1.0"], {"_job": second}, {}, 1, "news", "1.0", second)
    assert load_job(store, first).spec.asked_by is Requester.SUBMITTER
    assert [job["id"] for job in news.get("listjobs", SUBMIT)["pending"]] == [first, second]


def test_what_a_schedule_needs_is_not_deleted(news: Scrapyd) -> None:
    news.keep("news", "1.1", "daily")
    news.plan("pinned", version="1.0")
    news.plan("latest")
    for name, form in (("delversion", {"version": "1.0"}), ("delproject", {})):
        assert news.refused(name, project="news", **form).startswith("schedule '")
    assert "schedule 'pinned'" in news.refused("delversion", project="news", version="1.0")
    assert news.post("delversion", project="news", version="1.1")["status"] == "ok"
    assert news.api("DELETE", "/schedules/pinned").status_code == 204
    assert "schedule 'latest'" in news.refused("delversion", project="news", version="1.0"), "it is the only one"
    (kept,) = versions_of(news.api.bridge.store, "news")
    remove_unused_packages(news.api.bridge.store, time.time() + KEEP_S + 60)
    assert package_content(news.api.bridge.store, kept.package) is not None
    assert news.api("DELETE", "/schedules/latest").status_code == 204
    assert news.post("delproject", project="news")["status"] == "ok"


def test_a_schedule_whose_project_is_gone_says_so(news: Scrapyd, fleet: FleetShell) -> None:
    assert news.plan("nightly").get_json()["cannot_run"] is None
    news.keep("news", "2.0", "hourly")
    said = "version '2.0' of project 'news' has no spider 'daily'"
    assert news.api.get("/schedules/nightly")["cannot_run"] == said
    assert f"cannot run: {said}" in fleet("schedule", "list").out
    # As if it had been deleted while the schedule was made.
    remove_versions(news.api.bridge.store, "news", None, time.time())
    run, gone = news.run_planned("nightly"), "project 'news' was deleted: upload it again, or remove the schedule"
    assert (run["state"], run["reason"]) == ("failed", gone)
    listed = fleet("schedule", "list").out
    assert f"cannot run: {gone}" in listed and f"failed: {gone}" in listed


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"project": "sports"}, 422, "this fleet has the projects afar, news, own"),
        ({"version": "9"}, 422, "version '9' not found"),
        ({"spider": "weekly"}, 422, "spider 'weekly' not found"),
        ({"settings": {"ROBOTSTXT_OBEY": "0"}}, 403, "ROBOTSTXT_OBEY"),
        ({"processes": 2}, 403, "more than one process"),
    ],
)
def test_what_may_not_be_submitted_may_not_be_scheduled(
    news: Scrapyd, given: dict[str, Any], status: int, said: str
) -> None:
    answered = news.plan("nightly", **given)
    assert answered.status_code == status and said in answered.text, answered.text
    assert news.api.get("/schedules") == {"schedules": []}


def test_several_processes_and_repeated_arguments(news: Scrapyd) -> None:
    jobid = news.schedule(setting=["SHOAL_PROCESSES=3", "A=b=c"], city=["Rome", "Oslo"])
    run = load_job(news.api.bridge.store, jobid).spec.scrapy_run
    assert run is not None and run.processes == 3
    assert (run.settings, run.arguments["city"]) == ({"A": "b=c"}, "Rome")


def test_uploads_are_off_unless_the_operator_allows_them(api: Api) -> None:
    form = {"project": "a", "version": "1", "egg": (io.BytesIO(egg("a")), "a.egg")}
    answered = Scrapyd(api).send("POST", "/addversion.json", api.tokens[ADMIN], data=form)
    assert answered.status_code == 403 and "SHOAL_SCRAPY_UPLOADS=on" in answered.get_json()["message"]


def test_a_body_that_is_too_large_is_refused(news: Scrapyd) -> None:
    answered = news.send("POST", "/schedule.json", news.api.tokens[ADMIN], data={"a": "x" * (1 << 20)})
    assert answered.status_code == 413 and answered.get_json()["message"] == "the body is larger than 1 MB"


def test_an_egg_that_is_too_large_is_refused(scrapyd: Scrapyd) -> None:
    form = b"project=a&version=1&egg=" + b"x" * (PACKAGE_BYTES + 1)
    media = "application/x-www-form-urlencoded"
    answered = scrapyd.send("POST", "/addversion.json", scrapyd.api.tokens[ADMIN], data=form, content_type=media)
    assert answered.status_code == 413 and answered.get_json()["message"] == "the egg is larger than 32 MB"


BAD_PACKAGES = {
    "no entry point 'settings'": packed(project_files("daily")),
    "No module named 'none'": packed({"EGG-INFO/entry_points.txt": "[scrapy]\nsettings = none.settings\n"}),
    "no luck": egg("daily", code="raise RuntimeError('no luck')\n"),
    "cannot be listed": egg("daily", code="raise SystemExit(3)\n"),
    "ended with code": egg("daily", code="import os\nos._exit(3)\n"),
    "cannot be unpacked": egg("daily")[:100] + b"\xff" * 60 + egg("daily")[160:],
}


@pytest.mark.parametrize("said", BAD_PACKAGES)
def test_a_package_whose_spiders_cannot_be_listed_leaves_nothing(scrapyd: Scrapyd, said: str) -> None:
    told = scrapyd.upload("bad", "1", BAD_PACKAGES[said])
    assert told["status"] == "error" and said in told["message"], told
    assert "bad" not in scrapyd.get("listprojects")["projects"]


def test_code_of_a_package_runs_apart_and_without_secrets(scrapyd: Scrapyd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET_SHOP", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    code = (
        "import os, sys\nprint('noise')\n"
        "assert not [name for name in os.environ if name.startswith('SHOAL') or 'SECRET' in name]\n"
        "assert not {'flask', 'redis', 'sqlalchemy'} & sys.modules.keys()\n"
    )
    assert scrapyd.upload("apart", "1", egg("daily", code=code)) == {"status": "ok", "spiders": 1}
    assert "news" not in sys.modules and "news.spiders" not in sys.modules


def test_a_package_that_hangs_is_given_up_with_all_it_started() -> None:
    code = "import subprocess, time\nsubprocess.Popen(['sleep', '600'])\ntime.sleep(600)\n"
    began = time.monotonic()
    with pytest.raises(UsageError, match="took longer than 3 s"):
        spiders_of_package(egg("daily", code=code), within_s=3.0)
    assert time.monotonic() - began < 60


def test_the_page_of_jobs_can_be_read_by_scrapydweb(news: Scrapyd) -> None:
    pending, running, done = (news.schedule(jobid=f"<{n}>") for n in range(3))
    for jobid, *states in ((running, JobState.RUNNING), (done, JobState.RUNNING, JobState.DONE)):
        job = next(
            job
            for job in (load_job(news.api.bridge.store, one["id"]) for one in news.api.get("/jobs")["jobs"])
            if job.spec.scrapy_run is not None and job.spec.scrapy_run.jobid == jobid
        )
        news.set_state(job.id, *states)
    page = Scrapyd(news.api, "").send("GET", "/jobs", news.api.tokens[READ])
    assert page.status_code == 200 and "<h1>Jobs</h1>" in page.text
    text = re.sub(r"<thead>.*?</thead>", "", page.text, flags=re.DOTALL)
    found = re.findall(SCRAPYDWEBS_ROW, text)
    assert [row[:3] for row in found] == [("news", "daily", f"&lt;{n}&gt;") for n in range(3)]
    assert [bool(row[4]) for row in found] == [False, True, True]
    assert [bool(row[6]) for row in found] == [False, False, True]
    assert "/items/news/daily/%3C2%3E.jl" in found[2][8] and found[0][8] == "" and pending


SCRAPYDWEBS_ROW = re.compile(
    r"""<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>\s*<td>(.*?)</td>\s*(?:<td>(.*?)</td>\s*)?(?:<td>(.*?)</td>\s*)?"""
    r"""(?:<td>(.*?)</td>\s*)?(?:<td>(.*?)</td>\s*)?(?:<td>(.*?)</td>\s*)?(?:<td>(.*?)</td>\s*)?[\w\W]*?</tr>"""
)
"""Its pattern, in views/dashboard/jobs.py."""


def test_a_log_is_served_if_the_machine_of_the_api_has_it(news: Scrapyd) -> None:
    jobid = news.schedule()
    news.set_state(jobid, JobState.RUNNING)
    path = f"/logs/news/daily/{jobid}.log"
    reader = news.api.tokens[READ]
    assert news.send("GET", path, reader).status_code == 404
    folder = scrapy_logs(news.api.bridge.settings.home)
    folder.mkdir(parents=True)
    (folder / f"{jobid}-0.log").write_text("INFO: Spider opened\n")
    assert news.send("GET", path, reader).text == "INFO: Spider opened\n"
    assert news.send("GET", path, None).status_code == 401
    assert news.get("listjobs")["running"][0]["log_url"] == f"/scrapyd{path}"
    assert news.send("GET", f"/logs/news/hourly/{jobid}.log", reader).status_code == 404


def test_the_directories_of_logs_and_items_can_be_read_by_scrapydweb(news: Scrapyd) -> None:
    jobid = news.schedule(jobid="a/<b>")
    news.schedule(spider="hourly")
    job, web = find_job(news.api.bridge.store, "daily").id, Scrapyd(news.api, "")
    assert _listed(web, "/items/") == _listed(web, "/logs/") == []
    news.set_state(job, JobState.RUNNING)
    assert _listed(web, "/items/") == [("news/", "news/")]
    assert _listed(web, "/items/news/") == [("daily/", "daily/")]
    ((link, name),) = _listed(web, "/items/news/daily/")
    assert (link, name) == ("a%2F%3Cb%3E.jl", "a/&lt;b&gt;.jl") and jobid == "a/<b>"
    assert _listed(web, "/logs/") == []
    folder = scrapy_logs(news.api.bridge.settings.home)
    folder.mkdir(parents=True)
    (folder / f"{job}-0.log").write_text("INFO: Spider opened\n")
    assert _listed(web, "/logs/news/daily/") == [("a%2F%3Cb%3E.log", "a/&lt;b&gt;.log")]
    reader = news.api.tokens[READ]
    assert news.send("GET", "/logs/", reader).status_code == 200
    assert web.send("GET", "/items/news/hourly/", reader).status_code == 404
    assert web.send("GET", "/items/", None).status_code == 401


def _listed(web: Scrapyd, path: str) -> list[tuple[str, str]]:
    page = web.send("GET", path, web.api.tokens[READ])
    assert page.status_code == 200 and f"Directory listing for {path}" in page.text
    found = [re.search(r'href="(.+?)">(.+?)<', row[1]) for row in re.findall(SCRAPYDWEBS_FILE, page.text)]
    return [(match[1], match[2]) for match in found if match is not None]


SCRAPYDWEBS_FILE = re.compile(
    r"""<tr\sclass="(odd|even)">\n\s+<td>(.*?)</td>\n\s+<td>(.*?)</td>\n(?:\s+<td>(.*?)</td>\n)?"""
    r"""\s+<td>(.*?)</td>\n\s+<td>(.*?)</td>\n</tr>"""
)
"""Its pattern, in vars.py."""


def test_a_removed_job_leaves_nothing_in_the_lists(news: Scrapyd) -> None:
    jobid = news.schedule()
    news.set_state(jobid, JobState.RUNNING, JobState.DONE)
    assert news.api("DELETE", f"/jobs/{jobid}").status_code == 204
    assert news.get("listjobs")["finished"] == [] and news.get("status", job=jobid)["currstate"] is None
