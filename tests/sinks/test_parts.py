"""Sinks that write parts to a folder or a bucket."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from shoal.errors import Unavailable, UsageError
from shoal.object_store.open_store import open_store
from shoal.sinks.destination import SinkBatch
from shoal.sinks.parts import PartsSink
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.crawl.sink_state import Refusal, list_refused
from shoal.store.store import Store
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import S3Server
from tests.sinks.feeding import BOOK, KEY, book, drain, job_with_sink, opened, save_page, status
from tests.store.make import JOB, item_type


def lines(folder: Path) -> list[dict[str, Any]]:
    """Of all parts, in their order."""
    return [json.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text().splitlines()]


def test_parquet_parts_are_one_table(store: Store, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/books?rows=2"
    job_with_sink(store, url, BOOK, item_type("Author", {"name": "text"}))
    destination = opened(url)
    feed = SinkDelivery(store, KEY, destination)
    for n in range(5):
        save_page(store, n, 1, book(f"b{n}"), {"type": "Author", "data": {"name": "X"}, "key": None})
        while feed.step() is Step.DELIVERED:
            pass
    feed.close()
    drain(store, opened(url))
    table = ds.dataset(tmp_path / "books" / "book", format="parquet").to_table()
    assert {*table.column("title").to_pylist()} == {f"b{n}" for n in range(5)} and table.num_rows == 5
    assert str(table.schema.field("price").type) == "decimal128(12, 2)"
    assert {file.name for file in (tmp_path / "books" / "book").iterdir()} == {
        f"part-{JOB}-{n:06}.parquet" for n in range(5)
    }
    assert ds.dataset(tmp_path / "books" / "author", format="parquet").count_rows() == 5


def test_a_part_is_closed_by_rows_or_minutes(store: Store, tmp_path: Path) -> None:
    now = 0.0
    url = f"file://{tmp_path}/books"
    job_with_sink(store, url)
    options = {"format": "jsonl", "rows": "3", "minutes": "2"}
    feed = SinkDelivery(store, KEY, PartsSink(JOB, url, options, clock=lambda: now))

    def feed_all() -> int:
        while feed.step() is Step.DELIVERED:
            pass
        return len(lines(tmp_path / "books"))

    save_page(store, 1, 1, book("a"))
    assert (feed_all(), status(store).behind) == (0, 1)
    now = 119.0
    assert feed_all() == 0
    now = 120.0
    assert (feed_all(), status(store).behind) == (1, 0)
    save_page(store, 2, 1, book("b"), book("c"), book("d"))
    assert feed_all() == 4
    feed.close()


def test_a_part_that_is_written_twice_is_there_once(store: Store, tmp_path: Path) -> None:
    """The process was killed after the part was written and before the cursor moved. More came in between."""
    url = f"file://{tmp_path}/books?format=jsonl"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    drain(store, opened(url))
    with store.write() as db:
        db.exec_driver_sql("""UPDATE sinks SET planned = cursor, cursor = '{}', delivered = 0, batch = 0""")
    save_page(store, 2, 1, book("b"))
    drain(store, opened(url))
    files = sorted((tmp_path / "books" / "book").iterdir())
    assert [[json.loads(line)["title"] for line in file.read_text().splitlines()] for file in files] == [["a"], ["b"]]


def test_a_delivery_that_fails_half_way_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    class Fails(PartsSink):
        fault: Exception | None = Unavailable("the store is away")

        def deliver(self, batch: SinkBatch) -> list[Refusal]:
            refusals = super().deliver(batch)
            fault, self.fault = self.fault, None
            if fault is not None:
                raise fault
            return refusals

    url = f"file://{tmp_path}/books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    feed = SinkDelivery(store, KEY, Fails(JOB, url, {"format": "jsonl"}))
    with pytest.raises(Unavailable, match="the store is away"):
        feed.step()
    while feed.step(ends=True) is Step.DELIVERED:
        pass
    feed.close()
    assert [row["title"] for row in lines(tmp_path / "books")] == ["a"]


def test_a_disk_that_fails_delays_and_loses_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"file://{tmp_path}/books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    feed = SinkDelivery(store, KEY, opened(f"{url}?format=jsonl"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Unavailable, match="gone cannot be used"):
        feed.step()
    monkeypatch.undo()
    while feed.step(ends=True) is Step.DELIVERED:
        pass
    feed.close()
    assert [row["title"] for row in lines(tmp_path / "books")] == ["a"]


def test_changed_and_removed_items_follow_with_the_same_id(store: Store, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/books?format=jsonl"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"), book("b", "2"))
    drain(store, opened(url))
    save_page(store, 1, 2, book("a2", "1"))
    drain(store, opened(url))
    found = [(row["_id"], row.get("title"), row["_deleted"], row["_batch"]) for row in lines(tmp_path / "books")]
    assert found == [("1", "a", False, 0), ("2", "b", False, 0), ("1", "a2", False, 1), ("2", None, True, 1)]


def test_a_value_that_does_not_fit_parquet_is_put_aside(store: Store, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b", stock=2**70))
    drain(store, opened(url))
    assert ds.dataset(tmp_path / "books" / "book", format="parquet").count_rows() == 1
    [refused] = list_refused(store, JOB, {})
    assert refused["data"]["title"] == "b" and "stock" in refused["reason"]


def test_a_bucket_that_is_away_delays_and_loses_nothing(
    store: Store, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{s3.new_bucket()}/out"
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        job_with_sink(store, f"{url}?format=jsonl.gz")
        save_page(store, 1, 1, book("a"))
        feed = SinkDelivery(store, KEY, opened(f"{url}?format=jsonl.gz"))
        assert feed.step() is Step.DELIVERED
        proxy.fail(Fault(503))
        for _ in range(2):
            with pytest.raises(Unavailable, match="503"):
                feed.step(ends=True)
        assert status(store).behind == 1
        proxy.mend()
        # What came in between is in the next part.
        save_page(store, 2, 1, book("b"))
        while feed.step(ends=True) is Step.DELIVERED:
            pass
        feed.close()
        objects = open_store(url)
        parts = [gzip.decompress(objects.get(found.key)) for found in objects.list()]
    assert [json.loads(part)["title"] for part in parts] == ["a", "b"]
    assert status(store).behind == 0


def test_wrong_options_are_named(tmp_path: Path) -> None:
    for words, query in {"format csv": "format=csv", "rows=0": "rows=0", "minutes=x": "minutes=x"}.items():
        with pytest.raises(UsageError, match=words):
            opened(f"file://{tmp_path}?{query}")
