from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawled import Crawled, crawled
from tests.cli.crawling import crawling, until


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("export")) as job:
        yield job


def test_the_ending_says_the_format_and_each_holds_every_page(job: Crawled) -> None:
    said = [job.shoal("export", "last", "-o", f"pages.{ending}") for ending in ("jsonl", "csv", "parquet")]
    n = job.summary["pages"]
    assert [(ran.code, ran.err) for ran in said] == [
        (0, f"wrote {n} records to pages.{ending}\n") for ending in ("jsonl", "csv", "parquet")
    ]
    folder = job.shoal.folder
    lines = [json.loads(line) for line in (folder / "pages.jsonl").read_text().splitlines()]
    with (folder / "pages.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    groups = pq.read_table(folder / "pages.parquet").to_pylist()
    urls = [line["url"] for line in lines]
    assert urls == [row["url"] for row in rows] == [row["url"] for row in groups]
    assert len(set(urls)) == n
    front = lines[0]
    assert front["text"] and job.site.url("/feed.xml") in front["links"]


def test_inputs_are_reported_in_their_order_with_what_became_of_each(shoal: Shell, troubled_site: Running) -> None:
    paths = ("/feed.xml", "/old/catalogue", "/pages/reviews.html", "/private/orders.html", "/feed.xml?utm_source=x")
    lines = [*map(troubled_site.url, paths), "ftp://outside.invalid/"]
    shoal.crawl("-", "--retries", "0", input="\n".join(lines))
    rows = shoal("export", "last", "--inputs", "-o", "-").lines
    assert [row["url"] for row in rows] == lines
    assert [(row["outcome"], row["status"], row["reason"]) for row in rows] == [
        ("page", 200, None),
        ("page", 200, None),
        ("dead", 500, "http"),
        ("dropped", None, "robots"),
        ("page", 200, None),
        ("rejected", None, "not_http"),
    ]
    assert rows[1]["final_url"] == troubled_site.url("/pages/catalogue.html")
    assert rows[4]["duplicate_of"] == 1


def test_on_stdout_there_are_json_lines_and_nothing_else(job: Crawled) -> None:
    ran = job.shoal("export", "last", "-o", "-", "--json")
    assert len(ran.lines) == job.summary["pages"]
    assert {line["status"] for line in ran.lines} == {200, 404}


def test_with_json_the_count_of_records_is_data(job: Crawled) -> None:
    (said,) = job.shoal("export", "last", "-o", "all.jsonl", "--json").lines
    assert said == {"job": job.summary["job"], "output": "all.jsonl", "records": job.summary["pages"]}


def test_a_file_that_cannot_be_written_is_a_usage_error(job: Crawled) -> None:
    ending = job.shoal("export", "last", "-o", "pages.txt")
    assert ending.code == 2 and ".jsonl, .csv, .parquet" in ending.err
    assert job.shoal("export", "last", "-o", "no-such-directory/pages.csv").code == 2
    assert job.shoal("export", "last").code == 2


def test_a_running_job_gives_what_is_there_so_far(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, rate="5") as crawl:
        pages = until(lambda: shoal("export", crawl.job, "-o", "-").lines)
        assert crawl.process.poll() is None, "the crawl goes on"
        assert pages[0]["url"] == site.url()
