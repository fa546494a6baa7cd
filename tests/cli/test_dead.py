from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from shoal.embedded.home import Home
from shoal.frontier.contract import Caller
from shoal.frontier.serialize import request_of
from shoal.practice import Running
from shoal.store.crawl.dead_letters import dead_letters
from tests.cli.conftest import Shell, assert_balanced
from tests.cli.crawled import Crawled, crawled

AT_ONCE = ("--retries", "0")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("dead")) as job:
        yield job


def test_dead_letters_are_shown_by_cause_with_their_attempts_and_detail(job: Crawled) -> None:
    ran = job.shoal("dead", "last")
    assert ran.code == 0
    assert "http 500: 1 dead letter" in ran.out and "redirect_loop 302: 1 dead letter" in ran.out
    url = job.site.url("/pages/reviews.html")
    assert f"  {url}\n    1 attempt: answered 500 Internal Server Error\n" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_dead_letters_can_be_picked_and_printed_as_records(job: Crawled) -> None:
    every = job.shoal("dead", "last", "--json").lines
    assert {letter["url"] for letter in every} == {
        job.site.url(path) for path in ("/pages/reviews.html", "/pages/stock.html", "/old/checkout")
    }
    picked = job.shoal("dead", "last", "--json", "--where", "reason=http", "--where", "status=500").lines
    assert [(letter["status"], letter["attempts"]) for letter in picked] == [(500, 1)]
    none = job.shoal("dead", "last", "--where", "reason=dns")
    assert (none.code, none.out) == (0, "") and "no such dead letters" in none.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--where", "colour=red"], "reason, status, host"),
        (["--where", "status"], "KEY=VALUE"),
        (["--where", "host=a", "--where", "host=b"], "twice"),
    ],
)
def test_an_invalid_filter_is_a_usage_error(job: Crawled, given: list[str], said: str) -> None:
    refused = job.shoal("dead", "last", *given)
    assert refused.code == 2 and said in refused.err


def test_while_a_crawl_of_the_job_runs_nothing_is_retried(job: Crawled) -> None:
    (figures,) = job.shoal("job", "last", "--json").lines
    with Home(job.shoal.home) as home, home.lock_of(figures["id"]).held():
        refused = job.shoal("dead", "last", "--retry")
    assert refused.code == 5 and f"job {figures['id']} is running in process {os.getpid()}" in refused.err
    assert len(job.shoal("dead", "last", "--json").lines) == 3


def test_after_the_host_is_back_a_retry_completes_the_crawl(shoal: Shell, site: Running) -> None:
    site.control(status=500)
    failed = shoal.crawl(site.url(), *AT_ONCE)
    assert (failed.code, failed.summary["state"], failed.summary["dead"]) == (4, "failed", 1)
    site.control(status=0)

    retried = shoal("dead", "last", "--retry")
    assert retried.code == 0
    assert f"fetch them with: shoal resume {failed.summary['job']}\n" in retried.err
    assert "because     dead letters are queued again; resume the job to fetch them\n" in shoal("job", "last").out
    (figures,) = shoal("job", "last", "--json").lines
    assert (figures["state"], figures["queued"], figures["dead"]) == ("interrupted", 1, 0)

    resumed = shoal("resume", "last", "--json")
    assert_balanced(shoal, resumed)
    assert (resumed.code, resumed.summary["state"], resumed.summary["dead"]) == (0, "done", 0)
    assert resumed.summary["pages"] > 10


def test_only_the_dead_letters_that_match_are_retried(shoal: Shell, troubled_site: Running) -> None:
    shoal.crawl(troubled_site.url(), *AT_ONCE)
    (said,) = shoal("dead", "last", "--retry", "--where", "status=500", "--json").lines
    assert said["retried"] == 1
    assert sorted(letter["status"] for letter in shoal("dead", "last", "--json").lines) == [302, 503]
    nothing = shoal("dead", "last", "--retry", "--where", "status=500")
    assert nothing.code == 0 and "nothing to retry" in nothing.err


def test_a_retry_that_was_cut_off_is_repeated_without_counting_twice(shoal: Shell, troubled_site: Running) -> None:
    job = shoal.crawl(troubled_site.url(), *AT_ONCE).summary["job"]
    with Home(shoal.home) as home:
        (letters,) = dead_letters(home.store, job, {})
        requests = [request_of(letter.request) for letter in letters]
        assert asyncio.run(home.frontier.revive(Caller("cut off").next(), job, requests)) == 3
    (said,) = shoal("dead", job, "--retry", "--json").lines
    assert said["retried"] == 3
    (figures,) = shoal("job", job, "--json").lines
    assert (figures["state"], figures["queued"], figures["dead"]) == ("interrupted", 3, 0)
    assert shoal("dead", job, "--json").lines == []


def test_a_retried_page_does_not_fetch_known_pages_again(shoal: Shell, troubled_site: Running) -> None:
    first = shoal.crawl(troubled_site.url(), *AT_ONCE).summary
    for _ in range(2):
        # The page of stock figures answers at the third try, and links to the front page.
        shoal("dead", "last", "--retry", "--where", "status=503")
        last = shoal("resume", "last", "--json").summary
    assert last["by_status"]["200"] == first["by_status"]["200"] + 1
    assert (last["pages"], last["dead"]) == (first["pages"] + 1, first["dead"] - 1)
