"""Who may call what of scrapyd's API, and whose jobs each token sees."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.store.fleet.tokens import add_token
from tests.control.scrapyd_calls import ADMIN, READ, SUBMIT, Scrapyd


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
