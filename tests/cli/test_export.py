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


def test_the_extension_sets_the_format_and_each_file_has_every_page(job: Crawled) -> None:
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


def test_inputs_are_exported_in_order_with_their_outcomes(shoal: Shell, troubled_site: Running) -> None:
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


def test_the_report_of_a_list_has_its_columns_and_its_spelling(shoal: Shell, site: Running) -> None:
    rows = [
        {"sku": "7", "status": "new", "shop": f"{site.url()}#top"},
        {"sku": "8", "status": "old", "shop": "http//shop.example"},
        {"sku": "9", "status": "", "shop": "www,shop.example"},
        {"sku": "10", "status": "", "shop": ""},
        {"sku": "11", "status": "", "shop": "htp://ann:secret@shop.example/"},
    ]
    with (shoal.folder / "shops.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ran = shoal("crawl", "@shops.csv", "--column", "shop", "--allow-private", "--rate", "0")
    assert "line 3: 'http//shop.example': has a misspelt scheme: write http:// or https://\n" in ran.err
    assert "line 4: 'www,shop.example': has a host name that cannot exist" in ran.err
    rows[-1]["shop"] = "htp://***@shop.example/"
    report = shoal("export", "last", "--inputs", "-o", "-").lines
    assert [{"sku": row["sku"], "status": row["input_status"], "shop": row["shop"]} for row in report] == rows
    assert [row["url"] for row in report] == [row["shop"] for row in rows]
    reasons = [None, "misspelt_scheme", "bad_host", "empty", "misspelt_scheme"]
    assert [(row["line"], row["reason"]) for row in report] == list(zip(range(2, 7), reasons, strict=True))
    assert report[0]["status"] == 200
    for name in ("report.csv", "report.parquet"):
        assert shoal("export", "last", "--inputs", "-o", name).code == 0
    with (shoal.folder / "report.csv").open() as file:
        assert [row["sku"] for row in csv.DictReader(file)] == [row["sku"] for row in rows]
    assert "secret" not in shoal("export", "last", "--inputs", "-o", "-").out


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


def test_an_export_of_a_running_job_has_the_data_so_far(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, rate="5") as crawl:
        pages = until(lambda: shoal("export", crawl.job, "-o", "-").lines)
        assert crawl.process.poll() is None, "the crawl goes on"
        assert pages[0]["url"] == site.url()


def test_two_kinds_in_one_file_are_refused(job: Crawled) -> None:
    ran = job.shoal("export", "last", "--inputs", "--pages", "-o", "both.csv")
    assert ran.code == 2 and "--inputs and --pages cannot be combined" in ran.err
    assert not (job.shoal.folder / "both.csv").exists()
