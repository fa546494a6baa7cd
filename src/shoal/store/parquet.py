"""Rows as Parquet: numbers, decimals, dates and times keep their types, and no value loses a digit.

A column of items is surveyed before it is written, because its kind does not say everything: see `arrow.py`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.store.columns import Columns

if TYPE_CHECKING:
    from shoal.store.arrow import ArrowColumn

Rows = Iterable[Mapping[str, Any]]

_ROWS_PER_GROUP = 2048


class Chunk(NamedTuple):
    """Of a file as it is made."""

    data: bytes
    rows: int
    """How many more of them are told by now."""


def parquet(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    """Goes through the rows twice if a column has to be surveyed; they must allow it then."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = _arrow_columns(rows, columns)
    schema = pa.schema([(name, column.type) for name, column in arrow.items()])
    out = _Out()
    with pq.ParquetWriter(pa.PythonFile(out, mode="w"), schema, compression="zstd") as writer:
        for group in _groups(rows):
            arrays = {name: column.values(row.get(name) for row in group) for name, column in arrow.items()}
            writer.write_table(pa.table(arrays, schema=schema))
            yield Chunk(out.taken(), len(group))
    yield Chunk(out.taken(), 0)


class _Out(io.RawIOBase):
    """What was written since it was last asked."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        return len(part)

    def taken(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def _groups(rows: Rows) -> Iterator[list[Mapping[str, Any]]]:
    remaining = iter(rows)
    while group := list(islice(remaining, _ROWS_PER_GROUP)):
        yield group


def _arrow_columns(rows: Rows, columns: Columns) -> dict[str, ArrowColumn]:
    from shoal.store.arrow import SURVEYED, Survey, plain_column

    surveys = {name: Survey(kind) for name, kind in columns.items() if kind in SURVEYED}
    for group in _groups(rows) if surveys else ():
        for name, survey in surveys.items():
            survey.look([value for row in group if (value := row.get(name)) is not None])
    return {name: surveys[name].column() if name in surveys else plain_column(kind) for name, kind in columns.items()}
