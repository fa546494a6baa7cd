"""The archive, outputs, a dataset and a sink in buckets of Google and Azure, as a user sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store
from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.object_store.azure_server import running_azure
from tests.object_store.google_server import running_google

pytestmark = pytest.mark.usefixtures("site")
FAST = ("--allow-private", "--rate", "0")


@pytest.fixture(params=["google", "azure"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with running_google() if request.param == "google" else running_azure() as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield open_store(server.new_bucket())


def test_a_crawl_keeps_all_that_it_writes_in_a_bucket(
    shoal: Shell, site: Running, bucket: ObjectStore, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    archive = {"SHOAL_ARCHIVE_URL": f"{bucket.url}/crawls"}
    sink = f"{bucket.url}/parts/?format=jsonl"
    (shoal.folder / "titles.yaml").write_text(
        f"name: titles\nstart: [{site.url()}]\nfollow: [{{css: a}}]\nitems:\n  - fields:\n      title: {{css: title}}\n"
    )
    words = ("titles.yaml", *FAST, "--max-pages", "5", "--sink", sink, "-o", f"{bucket.url}/titles/")
    ran = shoal("crawl", *words, env=archive)
    assert ran.code == 0, ran.err
    (job,) = shoal("jobs", "--json").lines
    keys = [found.key for found in bucket.list()]
    (part,) = (key for key in keys if key.startswith("titles/date="))
    (tmp_path / "part.parquet").write_bytes(bucket.get(part))
    titles = sorted(map(str, pq.read_table(tmp_path / "part.parquet").column("title").to_pylist()))
    (sunk,) = (key for key in keys if key.startswith("parts/"))
    assert sorted(json.loads(line)["title"] for line in bucket.get(sunk).splitlines()) == titles and len(titles) == 5

    assert not list((shoal.folder / "shoal-data" / "spool").rglob("*.warc.gz"))
    page = shoal("pages", "last", "--json").lines[0]
    assert "<html" in shoal("pages", "last", "--body", page["fingerprint"], env=archive).out
    again = shoal("export", "last", "-o", f"{bucket.url}/titles/")
    assert again.code == 0 and [key for key in keys if key.startswith("titles/")] == [part], again.err
    assert shoal("export", "last", "--warc", "-o", f"{bucket.url}/all.warc.gz", env=archive).code == 0
    assert bucket.size("all.warc.gz")
    assert shoal("delete", job["id"], "--yes", env=archive).code == 0
    assert not [found.key for found in bucket.list("crawls")]
