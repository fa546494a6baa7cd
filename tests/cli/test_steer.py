from __future__ import annotations

import time

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import RATE, Crawling, crawling, until


def test_a_paused_job_requests_nothing_until_it_is_resumed(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        ran = shoal("pause", crawl.job)
        assert ran.code == 0
        assert f"process {crawl.process.pid}" in ran.err and f"shoal resume {crawl.job}" in ran.err
        until(lambda: crawl.figures()["state"] == "paused")
        seen = len(site.log())
        time.sleep(2 / float(RATE))
        assert len(site.log()) == seen, "in the time of two requests"
        crawl.hurry()
        assert shoal("resume", crawl.job).code == 0
        assert crawl.ended().code == 0
    assert crawl.figures()["state"] == "done"
    assert len(site.log()) > seen


def test_a_running_job_is_cancelled_and_keeps_its_pages(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        ran = shoal("cancel", crawl.job, "--json")
        assert ran.lines == [{"id": crawl.job, "state": "cancelled"}]
        assert f"process {crawl.process.pid}" in ran.err
        assert crawl.ended().code == 0
    figures = crawl.figures()
    assert figures["state"] == "cancelled" and figures["finished_at"]
    assert figures["pages"] > 0 and figures["queued"] > 0


def test_an_interrupted_job_is_cancelled_for_good_and_its_figures_add_up(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        crawl.kill()
        assert crawl.figures()["state"] == "interrupted"
        assert shoal("cancel", crawl.job).code == 0
    _assert_cancelled(crawl)
    assert shoal("resume", crawl.job).code == 2


def test_an_interrupted_job_can_be_cancelled_while_another_is_crawled(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as interrupted:
        interrupted.kill()
    with crawling(shoal, site) as other:
        assert other.job != interrupted.job
        assert shoal("cancel", interrupted.job).code == 0
        assert other.figures()["state"] == "running"
    _assert_cancelled(interrupted)


def test_only_a_running_job_can_be_paused(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        crawl.kill()
    ran = shoal("pause", crawl.job)
    assert ran.code == 2
    assert f"shoal resume {crawl.job}" in ran.err and f"shoal cancel {crawl.job}" in ran.err


def test_a_job_that_has_ended_can_be_neither_paused_nor_cancelled(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url()).summary["job"]
    for command in ("pause", "cancel"):
        ran = shoal(command, job)
        assert ran.code == 2
        assert f"job {job} is done: there is nothing to {command}" in ran.err


def _assert_cancelled(crawl: Crawling) -> None:
    figures = crawl.figures()
    assert figures["state"] == "cancelled"
    assert figures["leased"] == 0 and figures["queued"] > 0
    parts = (figures[name] for name in ("queued", "pages", "redirects", "dead"))
    assert figures["found"] == sum(parts) + sum(figures["dropped"].values())


def test_what_was_cancelled_stays_so(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        assert shoal("cancel", crawl.job).code == 0
    ran = shoal("dead", crawl.job, "--retry")
    assert ran.code == 2
    assert "cancelled" in ran.err
