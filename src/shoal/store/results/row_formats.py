"""Turns rows into the bytes of a file: JSON lines, JSON, CSV or Parquet, also compressed.

Every format accepts every text: invalid Unicode is replaced, and no CSV cell starts a formula.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import UsageError
from shoal.store.database.storable_text import storable
from shoal.store.results.columns import Columns
from shoal.store.results.parquet import Chunk, Rows, check_values, parquet

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")
_GZIP_WBITS = 31
_COMPRESSIONS = ("gz", "zst")


class FileFormat(NamedTuple):
    rows: str
    """jsonl, json, csv or parquet."""
    compression: str | None = None
    """gz or zst."""

    @property
    def streams(self) -> bool:
        """Whether each row can be read as soon as it is written."""
        return self.rows in ("jsonl", "csv") and self.compression is None

    @property
    def appends(self) -> bool:
        """Whether rows can follow those of another job."""
        return self.rows in ("jsonl", "csv")


def format_of(file: Path) -> FileFormat:
    """The format by the end of the file's name. Raises UsageError for an unknown one."""
    *_, before, last = ("", *file.name.lower().split("."))
    rows, compression = (before, last) if last in _COMPRESSIONS else (last, None)
    if rows not in _FORMATS or (rows == "parquet" and compression):
        raise UsageError(
            f"{file}: unknown format; end the name with one of .jsonl, .csv, .parquet, .json, .jsonl.gz, .csv.gz, "
            ".jsonl.zst, .csv.zst"
        )
    return FileFormat(rows, compression)


def chunks(rows: Rows, format: str, columns: Columns) -> Iterator[Chunk]:
    """Yields the bytes as they are made, for a caller that sends them.

    For Parquet, `rows` must be iterable twice: all are checked before the first byte is sent.
    """
    if format == "parquet":
        check_values(rows, columns)
    yield from _FORMATS[format](rows, columns)


def file_chunks(rows: Rows, format: FileFormat, columns: Columns, header: bool = True) -> Iterator[Chunk]:
    """The chunks of a file; without `header` they follow other rows of a CSV file."""
    made = csv_rows(rows, columns) if format.rows == "csv" and not header else _FORMATS[format.rows](rows, columns)
    return compressed(made, format.compression)


def compressed(made: Iterable[Chunk], compression: str | None) -> Iterator[Chunk]:
    if compression is None:
        yield from made
        return
    compressor: Any
    if compression == "gz":
        compressor = zlib.compressobj(wbits=_GZIP_WBITS)
    else:
        import zstandard

        compressor = zstandard.ZstdCompressor().compressobj()
    for chunk in made:
        yield Chunk(compressor.compress(chunk.data), chunk.rows)
    yield Chunk(compressor.flush(), 0)


def jsonl_rows(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    for row in rows:
        yield Chunk(_json(row).encode() + b"\n", 1)


def _json_array(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    before = b"[\n"
    for row in rows:
        yield Chunk(before + _json(row).encode(), 1)
        before = b",\n"
    yield Chunk(b"[]\n" if before == b"[\n" else b"\n]\n", 0)


def _csv(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    if columns:
        yield Chunk(csv_header(columns), 0)
    yield from csv_rows(rows, columns)


def csv_rows(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    """Without a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in rows:
        text.seek(0)
        text.truncate()
        writer.writerow([_cell(row.get(name)) for name in columns])
        yield Chunk(text.getvalue().encode(), 1)


def csv_header(columns: Iterable[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(columns)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict | bool):
        return _json(value)
    if not isinstance(value, str):
        return value
    # A spreadsheet runs such a cell as a formula, unless it is a number.
    if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        value = "'" + value
    return storable(value)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else storable(text)


_FORMATS: dict[str, Callable[[Rows, Columns], Iterator[Chunk]]] = {
    "jsonl": jsonl_rows,
    "csv": _csv,
    "parquet": parquet,
    "json": _json_array,
}
