"""Rows as Parquet: numbers, decimals, dates and times keep their types, and no value loses a digit.

A column of items is surveyed before it is written, because its kind does not say everything: see `arrow.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from shoal.store.columns import Columns

if TYPE_CHECKING:
    from shoal.store.arrow import ArrowColumn

Rows = Iterable[Mapping[str, Any]]

_ROWS_PER_GROUP = 2048


def write_parquet(rows: Rows, out: IO[bytes], columns: Columns) -> int:
    """Goes through the rows twice if a column has to be surveyed; they must allow it then."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = _arrow_columns(rows, columns)
    schema = pa.schema([(name, column.type) for name, column in arrow.items()])
    written = 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for group in _groups(rows):
            arrays = {name: column.values(row.get(name) for row in group) for name, column in arrow.items()}
            writer.write_table(pa.table(arrays, schema=schema))
            written += len(group)
    return written


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
