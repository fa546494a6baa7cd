"""scrapyd's API as its documentation has it: names and types of fields, words of errors, states of jobs."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from shoal.fleet.scrapy_logs import scrapy_logs
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.model import JobState
from shoal.store.jobs import find_job, load_job
from tests.control.eggs import egg
from tests.control.scrapyd_calls import ADMIN, READ, SUBMIT, Scrapyd
from tests.fleet.by_hand import FleetShell

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")


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


def test_several_processes_and_repeated_arguments(news: Scrapyd) -> None:
    jobid = news.schedule(setting=["SHOAL_PROCESSES=3", "A=b=c"], city=["Rome", "Oslo"])
    run = load_job(news.api.bridge.store, jobid).spec.scrapy_run
    assert run is not None and run.processes == 3
    assert (run.settings, run.arguments["city"]) == ({"A": "b=c"}, "Rome")


def test_a_body_that_is_too_large_is_refused(news: Scrapyd) -> None:
    answered = news.send("POST", "/schedule.json", news.api.tokens[ADMIN], data={"a": "x" * (1 << 20)})
    assert answered.status_code == 413 and answered.get_json()["message"] == "the body is larger than 1 MB"


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
