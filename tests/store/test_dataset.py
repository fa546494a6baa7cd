"""Datasets: parts in folders, read as one table by other programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from shoal.errors import ObjectStoreRefused, UsageError
from shoal.model.field_type import FieldType
from shoal.object_store.contract import ObjectStore
from shoal.object_store.folder import Folder
from shoal.object_store.open_store import open_store
from shoal.store.results import dataset as module
from shoal.store.results.columns import Columns, Kind
from shoal.store.results.dataset import Partition, write_dataset
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import S3Server

COLUMNS: Columns = {"title": Kind.TEXT, "price": FieldType("decimal"), "shop": Kind.TEXT}
BY_DATE = Partition("date", "_fetched_at", is_date=True)
BY_SHOP = Partition("shop", "shop")


def books(n: int, shop: str | None = "a", day: int = 18) -> list[dict[str, Any]]:
    at = f"2026-11-{day}T06:00:00.000Z"
    return [{"title": f"book {i}", "price": f"{i}.50", "shop": shop, "_fetched_at": at} for i in range(n)]


def files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def read(folder: Path) -> list[dict[str, Any]]:
    """By pyarrow and by DuckDB, which must agree."""
    table = ds.dataset(folder, format="parquet", partitioning="hive").to_table()
    query = f"SELECT count(*), sum(price) FROM read_parquet('{folder}/**/*.parquet', hive_partitioning=true)"
    with duckdb.connect() as connection:
        counted = connection.execute(query).fetchone()
    rows: list[dict[str, Any]] = table.to_pylist()
    assert counted == (len(rows), sum(row["price"] for row in rows) if rows else None)
    return rows


def write(folder: Path, rows: Iterable[dict[str, Any]], partition: Partition = BY_DATE, job: str = "j1") -> int:
    return write_dataset(Folder(folder), job, rows, COLUMNS, partition)


def test_rows_are_in_the_folder_of_their_day(tmp_path: Path) -> None:
    assert write(tmp_path, [*books(3, day=17), *books(2)]) == 5
    assert files(tmp_path) == ["date=2026-11-17/part-j1-00000.parquet", "date=2026-11-18/part-j1-00000.parquet"]
    rows = read(tmp_path)
    assert [row["date"] for row in rows] == ["2026-11-17"] * 3 + ["2026-11-18"] * 2
    assert rows[4] == {"title": "book 1", "price": Decimal("1.5"), "shop": "a", "date": "2026-11-18"}


def test_a_field_divides_them_whatever_its_text(tmp_path: Path) -> None:
    shops = ["a/b=c", "ü & ö", "100%", "..", None, ""]
    write(tmp_path, [row for shop in shops for row in books(1, shop)], BY_SHOP)
    assert {row["shop"] for row in read(tmp_path)} == {"a/b=c", "ü & ö", "100%", "..", None}
    assert "shop" not in pq.read_schema(next(tmp_path.rglob("*.parquet"))).names
    folders = {name.partition("/")[0] for name in files(tmp_path)}
    assert "shop=__HIVE_DEFAULT_PARTITION__" in folders and "shop=a%2Fb%3Dc" in folders


def test_a_list_is_no_partition(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--partition shop: it has a list"):
        write(tmp_path, [{"shop": ["a"]}], BY_SHOP)
    assert files(tmp_path) == []


def test_an_export_again_replaces_its_own_parts_only(tmp_path: Path) -> None:
    write(tmp_path, [*books(3, day=17), *books(2)])
    write(tmp_path, books(4, day=17), job="j2")
    # The rows of the 18th were fetched again on the 19th.
    write(tmp_path, [*books(3, day=17), *books(2, day=19)])
    assert files(tmp_path) == [
        "date=2026-11-17/part-j1-00000.parquet",
        "date=2026-11-17/part-j2-00000.parquet",
        "date=2026-11-19/part-j1-00000.parquet",
    ]
    assert len(read(tmp_path)) == 9
    write(tmp_path, books(1), replace(BY_DATE, overwrite=True), job="j3")
    assert files(tmp_path) == ["date=2026-11-18/part-j3-00000.parquet"]


def test_other_files_beside_the_parts_stay(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("mine")
    (tmp_path / "date=2026-11-01").mkdir()
    (tmp_path / "date=2026-11-01/other.parquet").write_bytes(b"")
    write(tmp_path, books(1), replace(BY_DATE, overwrite=True))
    assert {"README.txt", "date=2026-11-01/other.parquet"} < set(files(tmp_path))


def test_many_rows_become_several_parts_with_the_same_names_each_time(tmp_path: Path) -> None:
    rows = books(12_000)
    partition = replace(BY_DATE, part_rows=8_192)
    for folder in ("a", "b"):
        write(tmp_path / folder, rows, partition)
    assert files(tmp_path / "a") == [f"date=2026-11-18/part-j1-0000{n}.parquet" for n in (0, 1)]
    for name in files(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    read(tmp_path / "a")


def test_more_partitions_than_files_may_be_open(tmp_path: Path) -> None:
    n = module._MOST_OPEN + 50
    write(tmp_path, (row for _ in range(2) for shop in range(n) for row in books(1, f"s{shop}")), BY_SHOP)
    assert len(read(tmp_path)) == 2 * n


def test_no_rows_leave_no_part(tmp_path: Path) -> None:
    write(tmp_path, books(1))
    assert write(tmp_path, []) == 0
    assert files(tmp_path) == []


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def bucket(proxy: FaultProxy, s3: S3Server) -> ObjectStore:
    return open_store(f"s3://{s3.new_bucket()}/books")


def test_a_bucket_that_is_away_for_a_while_gets_every_row_once(bucket: ObjectStore, proxy: FaultProxy) -> None:
    proxy.fail(Fault(503), times=10)
    rows = [*books(2, day=17), *books(2)]
    assert write_dataset(bucket, "j1", rows, COLUMNS, BY_DATE) == 4
    proxy.fail(Fault(resets=True, passes=True), "PUT", times=2)
    write_dataset(bucket, "j1", rows, COLUMNS, BY_DATE)
    parts = [found.key for found in bucket.list()]
    assert parts == ["date=2026-11-17/part-j1-00000.parquet", "date=2026-11-18/part-j1-00000.parquet"]


def test_a_bucket_that_refuses_keeps_what_it_had(bucket: ObjectStore, proxy: FaultProxy) -> None:
    write_dataset(bucket, "j1", books(2), COLUMNS, BY_DATE)
    before = bucket.get("date=2026-11-18/part-j1-00000.parquet")
    proxy.fail(Fault(403), "PUT")
    with pytest.raises(ObjectStoreRefused):
        write_dataset(bucket, "j1", books(3, day=19), COLUMNS, BY_DATE)
    proxy.mend()
    assert [found.key for found in bucket.list()] == ["date=2026-11-18/part-j1-00000.parquet"]
    assert bucket.get("date=2026-11-18/part-j1-00000.parquet") == before
