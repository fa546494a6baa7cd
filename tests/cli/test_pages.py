from __future__ import annotations

from shoal.embedded.home import Home
from shoal.practice import Running
from shoal.store.batch import Batch, save
from tests.cli.conftest import Shell
from tests.store.make import JOB, job_with, page

FIELDS = [
    *("url", "final_url", "status", "depth", "parent", "content_type", "bytes", "title", "digest"),
    *("fingerprint", "attempts", "duration_ms", "fetched_at", "via", "archive"),
]


def test_pages_are_shown_in_a_table_of_80_columns_that_ends_with_the_url(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url())
    ran = shoal("pages", "last")
    header, first, *rest = ran.out.splitlines()
    assert ran.code == 0
    assert header.split() == ["status", "depth", "size", "title", "url"]
    assert first.split()[:2] == ["200", "0"] and first.endswith(site.url())
    assert len(rest) > 10
    assert max(map(len, ran.out.splitlines())) <= 80


def test_as_json_each_page_is_a_record_in_the_order_of_the_crawl(shoal: Shell, site: Running) -> None:
    summary = shoal.crawl(site.url()).summary
    records = shoal("pages", "last", "--json").lines
    assert [list(record) for record in records] == [FIELDS] * summary["pages"]
    times = [record["fetched_at"] for record in records]
    assert times == sorted(times)
    assert records[0]["url"] == records[1]["parent"] == site.url()


def test_pages_can_be_picked_by_status_and_host(shoal: Shell, troubled_site: Running) -> None:
    summary = shoal.crawl(troubled_site.url(), "--retries", "0").summary
    missing = shoal("pages", "last", "--json", "--status", "404").lines
    assert [page["status"] for page in missing] == [404] * summary["by_status"]["404"]
    here = shoal("pages", "last", "--json", "--host", f"127.0.0.1:{troubled_site.port}").lines
    assert len(here) == summary["pages"]
    elsewhere = shoal("pages", "last", "--host", "elsewhere.test")
    assert (elsewhere.code, elsewhere.out) == (0, "") and "no such pages" in elsewhere.err


def test_a_limit_leaves_later_pages_out_and_the_table_says_so(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url())
    ran = shoal("pages", "last", "--limit", "3")
    assert len(ran.out.splitlines()) == 1 + 3
    assert "the first 3" in ran.err
    assert len(shoal("pages", "last", "--limit", "3", "--json").lines) == 3


def test_a_hostile_title_cannot_command_the_terminal(shoal: Shell) -> None:
    with Home(shoal.home) as home:
        job_with(home.store)
        save(home.store, Batch(JOB, pages=[page(1, title="\x1b]0;owned\x07\x9b2J\u202etxt")]))
    shown = shoal("pages", JOB).out
    assert all(char.isprintable() for char in shown.replace("\n", ""))
    assert r"\x1b" in shown


def test_an_unknown_job_or_home_is_a_usage_error_that_names_the_way_out(shoal: Shell) -> None:
    no_home = shoal("pages", "last")
    assert no_home.code == 2 and "shoal crawl URL" in no_home.err
    with Home(shoal.home) as home:
        job_with(home.store)
    no_job = shoal("pages", "nothing-like-it")
    assert no_job.code == 2 and JOB in no_job.err
