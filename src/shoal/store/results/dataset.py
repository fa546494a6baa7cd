"""A dataset: Parquet parts in folders by date or by the values of a field, which other programs read as one table.

books/date=2026-11-18/part-nfk365y37d3-00000.parquet

The names follow from the job and the order of its rows. So a repeated export replaces its own parts, and removes those
that it no longer has. Parts of other jobs stay.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import UsageError
from shoal.object_store.contract import ObjectStore
from shoal.object_store.wait_for_store import wait_for_store
from shoal.store.results.columns import Columns
from shoal.store.results.parquet import Rows, arrow_groups

PART_ROWS = 500_000
PART_BYTES = 128_000_000
_GROUP_ROWS = 8_192
_BUFFERED_ROWS = 65_536
_MOST_OPEN = 400
_MOST_PARTITIONS = 10_000
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_VALUE = 200
_DAY_CHARS = 10


@dataclass(frozen=True)
class Partition:
    name: str
    """The name of its column."""
    source: str | None
    """The field that it is made of; None: `default`."""
    is_date: bool = False
    """Only the day of the source's time counts."""
    default: str = ""
    overwrite: bool = False
    """Removes the parts of other jobs, too."""
    part_rows: int = PART_ROWS

    def of_row(self, row: Mapping[str, Any]) -> Any:
        return self.default if self.source is None else self._of_value(row.get(self.source))

    def of_table(self, table: pa.Table) -> list[Any]:
        if self.source is None:
            return [self.default] * table.num_rows
        return [self._of_value(value) for value in table.column(self.source).to_pylist()]

    def _of_value(self, value: Any) -> Any:
        return str(value)[:_DAY_CHARS] if self.is_date and value is not None else value


@dataclass
class _OpenPart:
    """The part of one partition that is being written."""

    folder: str
    parts: int = 0
    tables: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    """In `tables`."""
    writer: pq.ParquetWriter | None = None
    file: Path | None = None
    written: int = 0


class Dataset:
    """Use it in `open_dataset`, which ends it."""

    def __init__(
        self, objects: ObjectStore, job: str, partition: Partition, schema: pa.Schema, temporary: Path
    ) -> None:
        self._objects = objects
        self._job = job
        self._name = partition.name
        self._part_rows = partition.part_rows
        self._schema = schema
        self._temporary = temporary
        self._partitions: OrderedDict[str, _OpenPart] = OrderedDict()
        self._buffered = 0
        self.keys: set[str] = set()

    def add(self, table: pa.Table, values: Sequence[Any]) -> None:
        """`values` are those of the partition's column, one per row. Raises UsageError and Unavailable."""
        places: dict[str, list[int]] = {}
        for place, value in enumerate(values):
            places.setdefault(self._folder(value), []).append(place)
        for folder, rows in places.items():
            partition = self._partition(folder)
            partition.tables.append(table if len(rows) == table.num_rows else table.take(rows))
            partition.rows += len(rows)
            self._buffered += len(rows)
            if partition.rows >= _GROUP_ROWS:
                self._write(partition)
        while self._buffered > _BUFFERED_ROWS:
            self._write(max(self._partitions.values(), key=lambda one: one.rows))

    def finish(self, overwrite: bool) -> None:
        """Writes what is left, then removes the parts that are not of this export."""
        for partition in self._partitions.values():
            self._write(partition)
            self._close(partition)
        ours = re.compile(rf"part-{'.+' if overwrite else re.escape(self._job)}-\d+\.parquet")
        found = [one.key for one in wait_for_store(lambda: list(self._objects.list()))]
        stale = [key for key in found if key not in self.keys and ours.fullmatch(key.rpartition("/")[2])]
        if stale:
            wait_for_store(self._objects.delete, stale)

    def abandon(self) -> None:
        for partition in self._partitions.values():
            if partition.writer is not None:
                partition.writer.close()

    def _folder(self, value: Any) -> str:
        return f"{quote(self._name, safe='')}={_encoded(self._name, value)}"

    def _partition(self, folder: str) -> _OpenPart:
        partition = self._partitions.get(folder)
        if partition is None:
            if len(self._partitions) >= _MOST_PARTITIONS:
                raise UsageError(
                    f"--partition {self._name}: it has more than {_MOST_PARTITIONS:,} values, and each would be a "
                    "folder: choose a field with fewer"
                )
            partition = self._partitions[folder] = _OpenPart(folder)
        self._partitions.move_to_end(folder)
        return partition

    def _write(self, partition: _OpenPart) -> None:
        """The buffered rows, as a row group."""
        if not partition.rows:
            return
        if partition.writer is None:
            self._open(partition)
        assert partition.writer is not None and partition.file is not None
        partition.writer.write_table(pa.concat_tables(partition.tables))
        partition.written += partition.rows
        self._buffered -= partition.rows
        partition.tables, partition.rows = [], 0
        if partition.written >= self._part_rows or partition.file.stat().st_size >= PART_BYTES:
            self._close(partition)

    def _open(self, partition: _OpenPart) -> None:
        opened = [one for one in self._partitions.values() if one.writer is not None]
        if len(opened) >= _MOST_OPEN:
            # The one that got no row for the longest time.
            self._close(opened[0])
        partition.file = self._temporary / f"{len(self.keys)}-{id(partition)}.parquet"
        partition.writer = pq.ParquetWriter(partition.file, self._schema, compression="zstd")

    def _close(self, partition: _OpenPart) -> None:
        """Puts the part under its final name."""
        if partition.writer is None or partition.file is None:
            return
        partition.writer.close()
        key = f"{partition.folder}/part-{self._job}-{partition.parts:05}.parquet"
        wait_for_store(self._objects.put_file, key, partition.file)
        self.keys.add(key)
        partition.file.unlink()
        partition.writer, partition.file, partition.written = None, None, 0
        partition.parts += 1


@contextmanager
def open_dataset(objects: ObjectStore, job: str, partition: Partition, schema: pa.Schema) -> Iterator[Dataset]:
    """Parts are put under their names as they fill. An error leaves those that were written, and removes none."""
    with TemporaryDirectory(prefix="shoal-") as temporary:
        dataset = Dataset(objects, job, partition, schema, Path(temporary))
        try:
            yield dataset
            dataset.finish(partition.overwrite)
        finally:
            dataset.abandon()


def write_dataset(objects: ObjectStore, job: str, rows: Rows, columns: Columns, partition: Partition) -> int:
    """Returns the number of rows. Raises UsageError for a value that does not fit its column, and Unavailable."""
    written = 0
    kept = {name: type for name, type in columns.items() if name != partition.name}
    schema, groups = arrow_groups(rows, kept)
    with open_dataset(objects, job, partition, schema) as dataset:
        for group, table in groups:
            dataset.add(table, [partition.of_row(row) for row in group])
            written += len(group)
    return written


def _encoded(name: str, value: Any) -> str:
    """As Hive, Spark and pyarrow spell it."""
    if value is None or value == "":
        return _NO_VALUE
    if isinstance(value, list | dict):
        raise UsageError(f"--partition {name}: it has a list or an object as its value: choose a field with plain ones")
    if isinstance(value, bool):
        return str(value).lower()
    text = format(value.normalize(), "f") if isinstance(value, Decimal) else str(value)
    if len(text) > _LONGEST_VALUE:
        raise UsageError(
            f"--partition {name}: {text[:40]!r}… is too long for the name of a folder: choose another field"
        )
    return quote(text, safe="")
