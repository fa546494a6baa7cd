"""Spiders of a Scrapy project that workers of a fleet run: started, and started again when they die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.fleet.fleet import Fleet
from shoal.fleet.schedules import Schedules
from shoal.fleet.scrapy_process import PROGRAM, ExitCode
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.model import JobSpec, ScrapyRun
from shoal.practice.process import Running as Site
from shoal.scrapy.crawl_job import unfinished_job
from shoal.scrapy.managed_process import exit_code, project_settings
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store
from tests.fleet.by_hand import FleetShell
from tests.fleet.running import Running
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import PLAIN_SCRAPY, PROJECT, run_spiders

SCRAPY = ("--scrapy", str(PROJECT), "--spider")
UNMODIFIED = ("-s", "SCHEDULER=scrapy.core.scheduler.Scheduler", "-s", "ITEM_PIPELINES={}")


def _pids(fleet: Running, job: str) -> list[int]:
    alive = fleet.by_hand(lambda made: OwnWorkers(made.frontier.connection, job).alive())
    return [pid for caller in alive if _lives(pid := int(caller.split("-")[-2]))]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_that_die_are_replaced_and_a_worker_that_dies_leaves_them_to_another(
    large_shop: Site, tmp_path: Path
) -> None:
    site = large_shop.url("").rstrip("/")
    with Running(tmp_path, workers=1, processes=1) as fleet:
        # Slow until all processes were killed that should be.
        slow = ("-s", "DOWNLOAD_DELAY=2")
        job = fleet.submit(*SCRAPY, "rules", "-a", f"site={site}", *slow, *UNMODIFIED, "--processes", "2")
        fleet.until(lambda: len(_pids(fleet, job)) == 2)
        first = _pids(fleet, job)
        fleet.until_pages(job, 2)
        os.kill(first[0], signal.SIGKILL)
        fleet.until(lambda: len(set(_pids(fleet, job)) - set(first)) == 1)
        old = _pids(fleet, job)
        fleet.start_worker()
        fleet.workers[0].kill()
        fleet.until(lambda: not any(map(_lives, old)))
        fleet.until(lambda: len(_pids(fleet, job)) == 2)
        assert fleet("hosts", f"127.0.0.1:{large_shop.port}", "--rate", "100").code == 0
        assert fleet.until_ended(job)["state"] == "done"
        items = [json.loads(line)["url"] for line in fleet("export", job, "-o", "-").out.splitlines()]
        fleet.until(lambda: "has finished" in fleet("logs", job).out)
        assert "was killed by SIGKILL" in fleet("logs", job).out
    expected = run_spiders(["rules"], large_shop, tmp_path, **PLAIN_SCRAPY)["rules"]
    assert sorted(items) == sorted(json.loads(item)["url"] for item in expected)


def test_a_limit_or_cancelling_ends_the_processes_and_a_spider_that_cannot_run_fails_its_job(
    large_shop: Site, tmp_path: Path
) -> None:
    site = large_shop.url("").rstrip("/")
    with Running(tmp_path, workers=1, processes=1) as fleet:
        limited = fleet.submit(*SCRAPY, "map", "-a", f"site={site}", "--max-pages", "7", "--name", "some")
        broken = fleet.submit(*SCRAPY, "no_such_spider")
        cancelled = fleet.submit(*SCRAPY, "rules", "-a", f"site={site}", "-s", "DOWNLOAD_DELAY=2")
        fleet.until_pages(cancelled, 1)
        (pid,) = _pids(fleet, cancelled)
        assert fleet("cancel", cancelled).code == 0
        fleet.until(lambda: not _lives(pid))
        figures = fleet.until_ended(limited)
        assert (figures["name"], figures["state"], figures["pages"]) == ("some", "limited", 7)
        assert fleet.until_ended(broken)["state"] == "failed"
        reason = str(fleet.standing(broken).job.reason)
        assert reason.startswith("Spider not found: no_such_spider; log: ")
        # Another start would find none either.
        assert fleet("logs", broken).out.count("is started, pid") == 1


@pytest.fixture
def shell(tmp_path: Path, redis: RedisServer) -> FleetShell:
    return FleetShell(tmp_path, redis)


def test_a_submitted_project_says_what_it_waits_for(shell: FleetShell) -> None:
    ran = shell("submit", *SCRAPY, "map", "-a", "site=http://x.example", "--processes", "3")
    assert ran.code == 0 and "Scrapy spider map submitted, 3 processes" in ran.err
    assert f"spider map of {PROJECT}, 3 processes" in shell("job", ran.out.strip()).out
    (status,) = shell("job", ran.out.strip(), "--json").lines
    assert status["state"] == "waiting"
    assert f"it needs a worker that has {PROJECT} and room (SHOAL_SCRAPY_PROCESSES)" in status["limiting"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--scrapy", "nowhere/else", "--spider", "a"], "there is no such folder"),
        (["--scrapy", ".", "--spider", "a"], "it has no scrapy.cfg"),
        (["--scrapy", str(PROJECT)], "needs the name of a spider"),
        (["--spider", "a", "http://x.example/"], "name it with --scrapy DIR"),
        ([*SCRAPY, "a", "http://x.example/"], "leave SOURCE and --dry-run out"),
        ([*SCRAPY, "a", "--rate", "1"], "--rate: not for a Scrapy project, which has settings instead"),
        ([*SCRAPY, "a", "-s", "novalue"], "-s 'novalue': give NAME=VALUE"),
        ([], "Missing argument 'SOURCE...'"),
    ],
)
def test_flags_that_make_no_job_are_refused(shell: FleetShell, words: list[str], why: str) -> None:
    ran = shell("submit", *words)
    assert ran.code == 2 and why in ran.err


def test_a_managed_process_opens_no_door_and_uses_the_servers_of_its_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Scrapy would set both for good, and later tests start their processes with this environment.
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "shop.settings")
    monkeypatch.syspath_prepend(PROJECT)
    monkeypatch.chdir(PROJECT)
    given = {"REMOTE_CONTROL_ENABLED": "1", "JOBDIR": "x", "LOG_LEVEL": "DEBUG"}
    asked: dict[str, Any] = {"job": "j1", "shoal": {"redis_url": "redis://fleet/0"}}
    settings = project_settings(asked, ScrapyRun(str(PROJECT), {}, given))
    assert not settings.getbool("REMOTE_CONTROL_ENABLED") and not settings.getbool("TELNETCONSOLE_ENABLED")
    assert (settings["SHOAL_REDIS_URL"], settings["SHOAL_JOB"]) == ("redis://fleet/0", "j1")
    assert not [name for name in settings["EXTENSIONS_BASE"] if "remote_control" in name or "telnet" in name]
    assert "scrapy.extensions.memusage.MemoryUsage" in settings["EXTENSIONS_BASE"]
    assert settings["JOBDIR"] is None and settings["LOG_LEVEL"] == "DEBUG"
    assert settings.getint("MEMUSAGE_LIMIT_MB") == 2048


def test_the_database_says_what_a_process_runs_and_redis_only_for_which_job(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        create_job(store, "j1", lambda: JobSpec("map", scrapy="map"), [], 1.0, fleet=True)
    for job, why in (("j0", "there is no job 'j0'"), ("j1", "not one of a Scrapy project that workers run")):
        given = {
            "job": job,
            "spider": "rules",
            "project": str(PROJECT),
            "settings": {"STATS_CLASS": "subprocess.Popen"},
        }
        asked = json.dumps({**given, "shoal": {"home": str(tmp_path)}, "parent": os.getpid()})
        command = [sys.executable, "-P", "-m", PROGRAM]
        ran = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 1 and why in ran.stderr


def test_the_exit_code_tells_whether_another_process_should_continue() -> None:
    reasons = ("finished", "shutdown", "memusage_exceeded", "closespider_pagecount", "cancelled", "none")
    codes = (ExitCode.FINISHED, ExitCode.INTERRUPTED, ExitCode.INTERRUPTED, ExitCode.CLOSED, ExitCode.CLOSED, 1)
    assert tuple(map(exit_code, reasons)) == codes


def test_a_schedule_starts_jobs_of_a_project(shell: FleetShell) -> None:
    flags = [*SCRAPY, "map", "-a", "site=http://x.example", "-s", "LOG_LEVEL=INFO", "--max-pages", "9"]
    ran = shell("schedule", "add", "maps", "--cron", "@daily", *flags, "--json")
    assert ran.code == 0, ran.err
    assert ran.lines[0]["job"]["spider"] == "map"
    due = shell("schedule", "run", "maps").out.strip()

    async def fire(fleet: Fleet) -> None:
        async_store = AsyncStore(fleet.store)
        await Schedules(fleet.settings, async_store).fire()
        async_store.close()

    shell.by_hand(fire)
    spec = shell.by_hand(lambda fleet: _spec(fleet, due))
    assert (spec.name, spec.scrapy, spec.limits.pages, spec.refresh) == ("maps", "map", 9, False)
    assert spec.scrapy_run == ScrapyRun(str(PROJECT), {"site": "http://x.example"}, {"LOG_LEVEL": "INFO"}, 1)
    assert shell("schedule", "add", "none", "--cron", "@daily").code == 2


def test_a_spider_started_by_hand_leaves_the_jobs_that_a_fleet_runs_alone(tmp_path: Path) -> None:
    by_hand = JobSpec("map", scrapy="map")
    managed = replace(by_hand, scrapy_run=ScrapyRun(str(PROJECT), {}, {}))
    with Store.open(tmp_path / "shoal.db") as store:
        create_job(store, "j1", lambda: managed, [], 1.0, fleet=True)
        assert unfinished_job(store, "map", fleet=True) is None
        create_job(store, "j2", lambda: by_hand, [], 2.0, fleet=True)
        create_job(store, "j3", lambda: managed, [], 3.0, fleet=True)
        assert unfinished_job(store, "map", fleet=True) == "j2"


async def _spec(fleet: Fleet, job: str) -> JobSpec:
    return load_job(fleet.store, job).spec
