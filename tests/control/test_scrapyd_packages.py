"""Uploaded projects over scrapyd's API: their versions, their limits, and code that harms nothing else."""

from __future__ import annotations

import io
import sys
import time

import pytest

from shoal.control.scrapyd.projects import PACKAGE_BYTES
from shoal.control.scrapyd.spider_lists import spiders_of_package
from shoal.errors import UsageError
from shoal.store.fleet.scrapy_projects import (
    KEEP_S,
    package_content,
    remove_unused_packages,
)
from shoal.store.jobs import load_job
from tests.control.calling import Api
from tests.control.eggs import egg, packed, project_files, wheel
from tests.control.scrapyd_calls import ADMIN, Scrapyd


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


def test_uploads_are_off_unless_the_operator_allows_them(api: Api) -> None:
    form = {"project": "a", "version": "1", "egg": (io.BytesIO(egg("a")), "a.egg")}
    answered = Scrapyd(api).send("POST", "/addversion.json", api.tokens[ADMIN], data=form)
    assert answered.status_code == 403 and "SHOAL_SCRAPY_UPLOADS=on" in answered.get_json()["message"]


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
