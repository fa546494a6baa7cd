"""Writes rows as Parquet. The columns follow from the declared types alone, and no value loses a digit.

`arrow_types.py` has the type of each column.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import UsageError
from shoal.model.field_type import FieldType
from shoal.store.results.columns import Columns

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.store.results.arrow_types import ArrowColumn

Rows = Iterable[Mapping[str, Any]]

_ROWS_PER_GROUP = 2048
_SHOWN = 100


class Chunk(NamedTuple):
    """A part of the file, as it is made."""

    data: bytes
    rows: int
    """How many more rows have been written by now."""


def parquet(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    """Raises UsageError for a value that does not fit its column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, groups = arrow_groups(rows, columns)
    out = _Out()
    with pq.ParquetWriter(pa.PythonFile(out, mode="w"), schema, compression="zstd") as writer:
        for group, table in groups:
            writer.write_table(table)
            yield Chunk(out.take(), len(group))
    yield Chunk(out.take(), 0)


def arrow_groups(
    rows: Rows, columns: Columns
) -> tuple[pa.Schema, Iterator[tuple[Sequence[Mapping[str, Any]], pa.Table]]]:
    """The schema, and the rows in groups with the table of each. Raises UsageError for a value that does not fit."""
    import pyarrow as pa

    from shoal.store.results.arrow_types import arrow_column

    arrow = {name: arrow_column(type) for name, type in columns.items()}
    schema = pa.schema([(name, column.type) for name, column in arrow.items()])

    def groups() -> Iterator[tuple[Sequence[Mapping[str, Any]], pa.Table]]:
        for group in _groups(rows):
            yield group, pa.table({name: _values(name, column, group) for name, column in arrow.items()}, schema=schema)

    return schema, groups()


class _Out(io.RawIOBase):
    """Collects the bytes written since the last `take`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def _groups(rows: Rows) -> Iterator[list[Mapping[str, Any]]]:
    remaining = iter(rows)
    while group := list(islice(remaining, _ROWS_PER_GROUP)):
        yield group


def check_values(rows: Rows, columns: Columns) -> None:
    """Raises UsageError for a value that does not fit its column, before a caller has sent a part of the file."""
    from shoal.store.results.arrow_types import arrow_column

    checked = {name: arrow_column(type) for name, type in columns.items() if isinstance(type, FieldType)}
    for group in _groups(rows) if checked else ():
        for name, column in checked.items():
            _values(name, column, group)


def _values(name: str, column: ArrowColumn, group: Sequence[Mapping[str, Any]]) -> list[Any]:
    from shoal.store.results.arrow_types import DoesNotFit

    try:
        return column.values(row.get(name) for row in group)
    except DoesNotFit as error:
        raise UsageError(
            f"{name} {_shown(error.value)} is no {error.type}, so it does not fit its Parquet column: "
            "change the field's type or precision and run `shoal extract`, or write .jsonl or .csv"
        ) from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
