from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal.embedded.home import Home
from shoal.store.crawl.save_batch import Batch, save
from tests.cli.conftest import Shell
from tests.cli.crawled import Crawled, crawled
from tests.store.make import JOB, job_with, page

FIELDS = [
    *("url", "final_url", "status", "depth", "parent", "content_type", "bytes", "title", "digest"),
    *("fingerprint", "attempts", "duration_ms", "fetched_at", "via", "archive", "changed"),
    *("tdm_reservation", "tdm_policy", "canonical", "noindex", "nofollow", "change_kind", "is_asset", "session"),
]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("pages")) as job:
        yield job


def test_pages_are_shown_in_a_table_of_80_columns_that_ends_with_the_url(job: Crawled) -> None:
    ran = job.shoal("pages", "last")
    header, first, *rest = ran.out.splitlines()
    assert ran.code == 0
    assert header.split() == ["status", "depth", "size", "title", "url"]
    assert first.split()[:2] == ["200", "0"] and first.endswith(job.site.url())
    assert 1 + len(rest) == job.summary["pages"]
    assert max(map(len, ran.out.splitlines())) <= 80


def test_as_json_each_page_is_a_record_in_the_order_of_the_crawl(job: Crawled) -> None:
    records = job.shoal("pages", "last", "--json").lines
    assert [list(record) for record in records] == [FIELDS] * job.summary["pages"]
    times = [record["fetched_at"] for record in records]
    assert times == sorted(times)
    assert records[0]["url"] == records[1]["parent"] == job.site.url()


def test_pages_can_be_picked_by_status_and_host(job: Crawled) -> None:
    missing = job.shoal("pages", "last", "--json", "--status", "404").lines
    assert [page["status"] for page in missing] == [404] * job.summary["by_status"]["404"]
    here = job.shoal("pages", "last", "--json", "--host", f"127.0.0.1:{job.site.port}").lines
    assert len(here) == job.summary["pages"]
    elsewhere = job.shoal("pages", "last", "--host", "elsewhere.test")
    assert (elsewhere.code, elsewhere.out) == (0, "") and "no such pages" in elsewhere.err


def test_a_limit_leaves_later_pages_out_and_the_table_says_so(job: Crawled) -> None:
    ran = job.shoal("pages", "last", "--limit", "3")
    assert len(ran.out.splitlines()) == 1 + 3
    assert "the first 3" in ran.err
    assert len(job.shoal("pages", "last", "--limit", "3", "--json").lines) == 3


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
