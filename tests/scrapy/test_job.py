"""A Scrapy crawl is a job: other processes see it, pause it, cancel it, and explain its requests."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from shoal.practice.process import Running
from tests.cli.conftest import Here
from tests.scrapy.crawling import DEADLINE_S, PROJECT, Spider, eventually


def test_a_crawl_is_steered_by_commands(large_shop: Running, tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    spider = Spider("rules", large_shop, tmp_path, SHOAL_HOME=shoal.home, SHOAL_JOB="steered", DOWNLOAD_DELAY=0.05)
    eventually(lambda: len(large_shop.log()) > 5)
    assert shoal("pause", "steered").code == 0
    eventually(lambda: _status(shoal)["state"] == "paused")
    paused = _status(shoal)
    assert paused["queued"] > 0
    explained = json.loads(shoal("--json", "explain", "steered", large_shop.url("/")).out)
    assert (explained["outcome"], explained["status"]) == ("page", 200)
    assert json.loads(shoal("--json", "explain", "steered", large_shop.url("/x")).out)["outcome"] == "unknown"
    assert shoal("resume", "steered").code == 0
    eventually(lambda: _status(shoal)["pages"] > paused["pages"])
    assert shoal("cancel", "steered").code == 0
    assert "Closing spider (cancelled)" in spider.wait()
    assert _status(shoal)["state"] == "cancelled"


def test_an_interrupted_spider_continues_and_shoal_says_how(large_shop: Running, tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    # So slow that the second process finds the first at work, however long it takes to start.
    spider = Spider("map", large_shop, tmp_path, SHOAL_HOME=shoal.home, DOWNLOAD_DELAY=1)
    eventually(lambda: len(large_shop.log()) > 2)
    second = Spider("map", large_shop, tmp_path, SHOAL_HOME=shoal.home, output="second.jsonl")
    assert "is running in process" in second.wait(succeeds=False)
    assert second.items() == []
    os.kill(spider.process.pid, signal.SIGINT)
    assert "Closing spider (shutdown)" in spider.wait()
    job = _status(shoal)
    assert job["state"] == "interrupted" and job["pages"] < 100
    refused = shoal("resume", job["id"])
    assert refused.code == 2 and "`scrapy crawl map` continues it" in refused.err
    Spider("map", large_shop, tmp_path, SHOAL_HOME=shoal.home).wait()
    ended = _status(shoal)
    assert (ended["id"], ended["state"]) == (job["id"], "done")
    assert len(shoal("export", job["id"], "-o", "-").out.splitlines()) == 100


def _status(shoal: Here) -> dict[str, Any]:
    """Of the only job."""
    (line,) = shoal("--json", "jobs").out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_items_go_to_sinks_while_the_crawl_runs(shop: Running, tmp_path: Path) -> None:
    sink = f"sqlite:///{tmp_path}/items.db?table=products"
    Spider("map", shop, tmp_path, SHOAL_SINKS=sink).wait()
    with closing(sqlite3.connect(tmp_path / "items.db")) as db:
        assert db.execute("SELECT count(DISTINCT url), count(*) FROM products").fetchone() == (30, 30)


def test_commands_that_look_at_single_pages_are_no_crawls(shop: Running, tmp_path: Path) -> None:
    url = shop.url("/about.html")
    for words, said in {
        ("check", "many"): "Ran 1 contract",
        ("parse", "--spider", "many", "-c", "parse_about", url): "Scraped Items",
        ("shell", "-c", "response.url", url): url,
    }.items():
        command = [sys.executable, "-m", "scrapy", *words]
        env = {**os.environ, "SHOAL_HOME": str(tmp_path / "home")}
        ran = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, timeout=DEADLINE_S)
        assert ran.returncode == 0 and said in ran.stdout + ran.stderr, (words, ran.stdout, ran.stderr)
    assert not (tmp_path / "home").exists()
