"""Nothing waits in silence: a process that gets nowhere is replaced, the page that did it is blamed alone, and a job
that nobody can work on says so."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from shoal.practice import Running as Site
from shoal.practice import Shop, running
from tests.fleet import oracles
from tests.fleet.running import Running
from tests.fleet.shopping import PER_HOST, SHOP, shopping

SILENT_S = 5.0
PAIR = Shop(hosts=1, categories=2, products=20, troubled=False)
BAD = """
import ctypes, os, time
from shoal import Page, spider

@spider({url!r}, allow_private=True, rate=0)
def pages(page: Page):
    {bad}
    yield {{"url": page.url}}
    yield from page.follow("a")
"""


def bad_spider(fleet: Running, site: Site, **pages: str) -> str:
    """Follows every link; what it does on some pages, by their names."""
    lines = [f"if page.url.endswith('/{name}.html'): {deed}" for name, deed in pages.items()]
    (fleet.folder / "bad.py").write_text(BAD.format(url=site.url(), bad="\n    ".join(lines)))
    return "bad.py"


def assert_all_but(fleet: Running, job: str, site: Site, bad: dict[str, str]) -> None:
    """Every page of the shop is there, but these are dead letters for these reasons."""
    figures = fleet.until_ended(job)
    oracles.assert_balanced(figures)
    oracles.assert_counted(fleet, job, figures)
    dead = {row["url"]: row["reason"] for row in fleet("dead", job, "--json").lines}
    assert dead == {site.url(path): reason for path, reason in bad.items()}
    (truth,) = PAIR.truth().values()
    pages = {row["url"] for row in fleet("pages", job, "--json").lines}
    assert pages == {site.url(path) for path in truth.pages if path not in bad}
    assert figures["items"] == len(pages)


def test_a_frozen_child_is_replaced_and_others_do_its_work(tmp_path: Path) -> None:
    with shopping(tmp_path, env={"SHOAL_SILENT_S": f"{SILENT_S:g}"}) as shop:
        shop.until_asked(20)
        stopped = max(shop.fleet.roster(), key=lambda entry: entry.ended).pid
        os.kill(stopped, signal.SIGSTOP)
        shop.fleet.until(lambda: stopped not in shop.fleet.children())
        shop.fleet.until(lambda: len(shop.fleet.children()) == shop.fleet.processes)
        shop.assert_unharmed(repeats=PER_HOST * SHOP.hosts)


def test_an_endless_callback_is_stopped_and_its_process_survives(tmp_path: Path) -> None:
    with running(PAIR) as site, Running(tmp_path) as fleet:
        children = fleet.children()
        job = fleet.submit(bad_spider(fleet, site, about="exec('while True: time.sleep(0.01)')"))
        assert_all_but(fleet, job, site, {"/about.html": "callback"})
        assert fleet.children() == children


def test_pages_that_kill_or_silence_their_process_are_dead_after_three_attempts(tmp_path: Path) -> None:
    # A fault of this very thread. A signal from os.kill may reach the main thread after the next page was begun.
    deeds = {"about": "ctypes.string_at(0)", "contact": "time.sleep(10 ** 6)"}
    # Leases would expire before the silent process is replaced, and nobody would be blamed.
    env = {"SHOAL_SILENT_S": f"{SILENT_S:g}", "SHOAL_LEASE_S": "3"}
    with running(PAIR) as site, Running(tmp_path, env=env) as fleet:
        job = fleet.submit(bad_spider(fleet, site, **deeds))
        assert_all_but(fleet, job, site, {f"/{name}.html": "poison" for name in deeds})
        fleet.until(lambda: len(fleet.children()) == fleet.processes)


def test_jobs_that_no_worker_can_load_say_so_until_one_can(tmp_path: Path) -> None:
    with running(PAIR) as site, Running(tmp_path, workers=0) as fleet:
        spider = tmp_path / bad_spider(fleet, site)
        unloadable = fleet.submit(spider.name, "--lane", "express")
        hidden = spider.rename(tmp_path / "hidden.py")
        unserved = fleet.submit(site.url(), "--rate", "0")
        fleet.start_worker("--lanes", "express")
        fleet.until_manned(children=fleet.processes)
        assert_says(fleet, unloadable, "no worker can load it: ")
        assert_says(fleet, unserved, "no worker serves its lane: shoal worker --lanes batch")
        hidden.rename(spider)
        fleet.start_worker("--lanes", "batch")
        assert [fleet.until_ended(job)["state"] for job in (unloadable, unserved)] == ["done", "done"]


def test_a_worker_with_another_database_says_that_the_jobs_in_redis_are_not_its_own(tmp_path: Path) -> None:
    with running(PAIR) as site, Running(tmp_path, workers=0, tends=0) as fleet:
        # Before there is a tend, which would have it refused.
        worker = fleet.start_worker(SHOAL_HOME=str(tmp_path / "another"))
        fleet.until(lambda: "ready: " in worker.said)
        fleet.start_tend()
        job = fleet.submit(site.url(), "--rate", "0")
        assert_says(fleet, job, "no worker can load it: it is queued in Redis, but not in this database")
        said = f"job {job} cannot be loaded here: it is queued in Redis, but not in this database"
        assert worker.said.count(said) in range(1, fleet.processes + 1)


def assert_says(fleet: Running, job: str, said: str) -> None:
    """In `job` and `watch`."""
    fleet.until(lambda: (fleet.figures(job)["limiting"] or "").startswith(said))
    assert said in first_line_of_watch(fleet, job)["waiting"]


def first_line_of_watch(fleet: Running, job: str) -> dict[str, Any]:
    with fleet.start("watch", job, "--json") as watching:
        assert watching.stdout
        line: dict[str, Any] = json.loads(watching.stdout.readline())
        watching.terminate()
    return line
