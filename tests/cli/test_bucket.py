"""Outputs and the archive in buckets, as a user sees them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store
from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S, until
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import SECRET, S3Server
from tests.store.warcs import of_type, read

pytestmark = pytest.mark.usefixtures("site")
FAST = ("--allow-private", "--rate", "0")


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def bucket(s3: S3Server, proxy: FaultProxy) -> ObjectStore:
    return open_store(f"s3://{s3.new_bucket()}")


@pytest.fixture
def shell(shoal: Shell) -> Shell:
    return shoal


def keys(bucket: ObjectStore) -> list[str]:
    return [found.key for found in bucket.list()]


def test_a_crawl_writes_an_object_at_its_end(shoal: Shell, site: Running, bucket: ObjectStore) -> None:
    target = f"{bucket.url}/out/pages-{{job}}.jsonl"
    ran = shoal("crawl", site.url(), *FAST, "-o", target)
    assert ran.code == 0, ran.err
    (key,) = keys(bucket)
    rows = [json.loads(line) for line in bucket.get(key).splitlines()]
    assert f"wrote {len(rows)} records to {bucket.url}/{key}" in ran.err and len(rows) > 10
    again = shoal("export", "last", "-o", f"{bucket.url}/{key}")
    assert again.code == 2 and "exists: give --overwrite or another name" in again.err
    assert shoal("export", "last", "-o", f"{bucket.url}/{key}", "--overwrite").code == 0
    assert [json.loads(line)["url"] for line in bucket.get(key).splitlines()] == [row["url"] for row in rows]
    added = shoal("export", "last", "-o", f"{bucket.url}/{key}", "--append")
    assert added.code == 2 and "nothing can be added" in added.err


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz", "jsonl.zst", "json"])
def test_an_object_has_the_bytes_of_the_file(shoal: Shell, site: Running, bucket: ObjectStore, ending: str) -> None:
    assert shoal("crawl", site.url(), *FAST, "--max-pages", "3").code == 0
    assert shoal("export", "last", "-o", f"{bucket.url}/a.{ending}").code == 0
    assert shoal("export", "last", "-o", f"a.{ending}").code == 0
    assert bucket.get(f"a.{ending}") == (shoal.folder / f"a.{ending}").read_bytes()


def test_a_bucket_that_is_away_at_the_end_is_waited_for(
    shoal: Shell, site: Running, bucket: ObjectStore, proxy: FaultProxy
) -> None:
    proxy.fail(Fault(503), "PUT", times=8)
    ran = shoal("crawl", site.url(), *FAST, "--max-pages", "3", "-o", f"{bucket.url}/a.csv")
    assert ran.code == 0, ran.err
    assert keys(bucket) == ["a.csv"]


def test_what_cannot_be_written_is_said_before_the_crawl(
    shoal: Shell, site: Running, bucket: ObjectStore, proxy: FaultProxy
) -> None:
    for target, words in (
        ("s3://not-there-at-all/a.csv", "there is no such bucket"),
        (f"{bucket.url}/a.xml", "unknown format"),
        (bucket.url, "name an object"),
        ("s3://key:hidden@bucket/a.csv", "leave credentials out of the URL"),
    ):
        ran = shoal("crawl", site.url(), *FAST, "-o", target)
        assert ran.code in (2, 5) and words in ran.err and "hidden" not in ran.err
    proxy.fail(Fault(403))
    ran = shoal("crawl", site.url(), *FAST, "-o", f"{bucket.url}/a.csv")
    assert ran.code == 5 and "check the credentials" in ran.err and SECRET not in ran.err
    assert shoal("jobs", "--json").lines == []


def test_a_killed_crawl_writes_each_page_once_into_its_dataset(
    shoal: Shell, site: Running, bucket: ObjectStore, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    site.control(latency_ms=100)
    with shoal.start("crawl", site.url(), *FAST, "-o", f"{bucket.url}/pages/") as process:
        try:
            until(lambda: any(job["pages"] > 2 for job in shoal("jobs", "--json").lines))
        finally:
            process.kill()
    site.control(latency_ms=0)
    resumed = shoal("resume", "last")
    assert resumed.code == 0, resumed.err
    (part,) = keys(bucket)
    (job,) = shoal("jobs", "--json").lines
    assert part.startswith("pages/date=20") and part.endswith(f"/part-{job['id']}-00000.parquet")
    (tmp_path / "part.parquet").write_bytes(bucket.get(part))
    urls = pq.read_table(tmp_path / "part.parquet").column("url").to_pylist()
    assert len(urls) == len(set(urls)) == job["pages"]


def test_a_dataset_is_written_locally_too(shoal: Shell, site: Running) -> None:
    import pyarrow.dataset as ds

    ran = shoal("crawl", site.url(), *FAST, "-o", "pages/", "--partition", "status")
    assert ran.code == 0 and "records to pages/" in ran.err, ran.err
    table = ds.dataset(shoal.folder / "pages", format="parquet", partitioning="hive").to_table()
    assert set(table.column("status").to_pylist()) == {200}
    unknown = shoal("export", "last", "-o", "other/", "--partition", "stat")
    assert unknown.code == 2 and "did you mean status?" in unknown.err
    single = shoal("export", "last", "-o", "a.csv", "--partition", "status")
    assert single.code == 2 and "end the name with a slash" in single.err


def test_every_command_reads_an_archive_in_a_bucket(
    shell: Shell, site: Running, bucket: ObjectStore, proxy: FaultProxy
) -> None:
    shoal = partial(shell, env={"SHOAL_ARCHIVE_URL": f"{bucket.url}/crawls"})
    assert shoal("crawl", site.url(), *FAST).code == 0
    (job,) = shoal("jobs", "--json").lines
    assert {key.rpartition(".")[2] for key in keys(bucket)} == {"gz", "cdxj"}
    assert not list((shell.folder / "shoal-data" / "spool").rglob("*.warc.gz"))
    page = shoal("pages", "last", "--json").lines[0]
    body = shoal("pages", "last", "--body", page["fingerprint"])
    assert body.code == 0 and "<html" in body.out
    assert shoal("export", "last", "--warc", "-o", "all.warc.gz").code == 0
    assert len(of_type(read((shell.folder / "all.warc.gz").read_bytes()), "response")) >= job["pages"]
    assert shoal("export", "last", "--warc", "-o", f"{bucket.url}/copy.warc.gz").code == 0
    (shell.folder / "shop.yaml").write_text(
        f"name: shop\nstart: [{site.url()}]\nitems:\n  - fields:\n      title: {{css: title}}\n"
    )
    ran = shoal("extract", "last", "--rules", "shop.yaml", "-o", f"{bucket.url}/titles.jsonl")
    assert ran.code == 0, ran.err
    assert len(bucket.get("titles.jsonl").splitlines()) == job["pages"]
    refreshed = shoal("crawl", site.url(), *FAST, "--refresh")
    assert refreshed.code == 0, refreshed.err
    assert shoal("diff", job["id"], "last").code == 0
    assert shoal("delete", job["id"], "--yes").code == 0
    assert not [key for key in keys(bucket) if job["id"] in key]
    proxy.fail(Fault(403))
    refused = shoal("pages", "last", "--body", page["fingerprint"])
    assert refused.code in (2, 5)


def test_ctrl_c_while_segments_are_uploaded_leaves_them_to_the_next_run(
    shoal: Shell, site: Running, bucket: ObjectStore, proxy: FaultProxy
) -> None:
    env = {"SHOAL_ARCHIVE_URL": f"{bucket.url}/crawls"}
    proxy.fail(Fault(503), "PUT")
    with shoal.start("crawl", site.url(), *FAST, "--max-pages", "3", env=env) as process:
        try:
            waits = until(lambda: [job for job in shoal("jobs", "--json").lines if job["state"] == "waiting"])
            assert waits[0]["pages"] == 3
            process.send_signal(signal.SIGINT)
            assert process.wait(WITHIN_S) == 130
        finally:
            process.kill()
    assert list(shoal.folder.rglob("spool/*/*/*.warc.gz")) and keys(bucket) == []
    proxy.mend()
    resumed = shoal("resume", "last", env=env)
    assert resumed.code == 0, resumed.err
    assert len(keys(bucket)) == 2 and not list(shoal.folder.rglob("spool/*/*/*.warc.gz"))


def test_a_wrong_archive_is_said_before_the_first_request(shoal: Shell, site: Running, s3: S3Server) -> None:
    ran = shoal("crawl", site.url(), *FAST, env={"SHOAL_ARCHIVE_URL": "s3://not-there-at-all/crawls"})
    assert ran.code == 5 and "there is no such bucket" in ran.err
    assert not site.log_path.read_bytes()
