from __future__ import annotations

import time

import pytest

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


def test_a_limited_job_goes_on_with_a_higher_limit_and_only_with_one(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--rate", "0", "--max-pages", "3")
    (job,) = (each["id"] for each in shoal("jobs", "--json").lines)
    way_on = f"shoal resume {job} --max-pages N"
    assert f"continue with: {way_on}" in ran.err and way_on in shoal("job", job).out + shoal("job", job).err
    for options in ([], ["--max-pages", "3"]):
        refused = shoal("resume", job, *options)
        assert refused.code == 2 and "its limit of pages is reached" in refused.err, options
    assert way_on in shoal("resume", job).err
    resumed = shoal("resume", job, "--max-pages", "7", "--json").summary
    assert (resumed["job"], resumed["state"], resumed["pages"]) == (job, "limited", 7)
    asked = [each.path for each in site.log()]
    assert len(asked) == len(set(asked)), "nothing twice"
    assert shoal("resume", job, "--max-pages", "1000").code == 0
    assert shoal("job", job, "--json").lines[0]["state"] == "done"


@pytest.mark.parametrize(("option", "wanted"), [("--max-bytes", "SIZE"), ("--max-pages-per-host", "N")])
def test_the_limit_that_ended_a_job_is_the_one_to_be_raised(
    shoal: Shell, site: Running, option: str, wanted: str
) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--rate", "0", option, "1")
    assert ran.err.rstrip().endswith(f" {option} {wanted}")


def test_a_job_without_time_goes_on_with_more(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--allow-private", "--rate", "2", "--max-seconds", "1")
    assert "--max-seconds TIME" in ran.err
    host = f"{site.addresses[0]}:{site.port}"
    assert shoal("hosts", host, "--rate", "100").code == 0
    resumed = shoal("resume", "last", "--max-seconds", "10m", "--json").summary
    assert resumed["state"] == "done"


def _assert_cancelled(crawl: Crawling) -> None:
    figures = crawl.figures()
    assert figures["state"] == "cancelled"
    assert figures["leased"] == 0 and figures["queued"] > 0
    parts = (figures[name] for name in ("queued", "pages", "assets", "redirects", "dead"))
    assert figures["found"] == sum(parts) + sum(figures["dropped"].values())


def test_what_was_cancelled_stays_so(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        assert shoal("cancel", crawl.job).code == 0
    ran = shoal("dead", crawl.job, "--retry")
    assert ran.code == 2
    assert "cancelled" in ran.err


def test_a_job_continues_with_new_options_and_keeps_the_others(shoal: Shell, site: Running) -> None:
    ran = shoal.crawl(site.url(), "--max-pages", "2", "--per-host", "1", "--exclude", "/none")
    new = ("--max-pages", "5", "--rate", "50", "--exclude", "/feed", "--exclude", "/pages/*")
    resumed = shoal("resume", ran.summary["job"], *new, "--json").summary
    assert resumed["pages"] == 5
    shown = shoal("job", "last").out
    assert "50 requests/s and 1 in flight per host" in shown
    assert "host, not /feed, not /pages/*" in shown and "5 pages" in shown


def test_a_new_option_that_cannot_be_used_changes_nothing(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "2").summary["job"]
    for words in (("--rate", "-1"), ("--max-pages", "9", "--include", "re:("), ("--rate", "5")):
        assert shoal("resume", job, *words).code == 2, words
    (figures,) = shoal("job", job, "--json").lines
    assert (figures["state"], figures["version"]) == ("limited", 1)
