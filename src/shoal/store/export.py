"""Writing rows to a file whose ending names the format: JSON lines, CSV or Parquet.

The file appears whole or not at all: it is written beside its place as `.part`, made durable, then renamed.
Every format takes every text: what is no Unicode is replaced, and no cell of a CSV begins a formula.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from shoal.errors import UsageError
from shoal.store.columns import Columns, Kind
from shoal.store.text import storable

STDOUT = "-"
"""As a path: JSON lines on standard output."""

Rows = Iterable[Mapping[str, Any]]

_ROWS_PER_GROUP = 2048
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*")


def check_writable(path: str) -> None:
    """Raises UsageError now for what would otherwise spoil the export after the crawl."""
    if path == STDOUT:
        return
    file = Path(path)
    writer = _writer(file)
    if writer is _write_parquet and importlib.util.find_spec("pyarrow") is None:
        raise UsageError(f"{path}: Parquet needs pyarrow: pip install 'shoal[parquet]'")
    if file.is_dir():
        raise UsageError(f"{path} is a directory: name a file in it")
    if not file.parent.is_dir():
        raise UsageError(f"{path}: there is no directory {file.parent}: make it first")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"{path}: the directory {file.parent} cannot be written")


def export(rows: Rows, path: str, columns: Columns) -> int:
    """Writes the rows and returns how many they were."""
    counted = _Counted(rows)
    if path == STDOUT:
        _write_jsonl(counted, sys.stdout.buffer, columns)
        sys.stdout.buffer.flush()
        return counted.n
    check_writable(path)
    file = Path(path)
    with _whole(file) as out:
        _writer(file)(counted, out, columns)
    return counted.n


class _Counted:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.n = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for row in self._rows:
            self.n += 1
            yield row


@contextmanager
def _whole(file: Path) -> Iterator[IO[bytes]]:
    part = file.with_name(file.name + ".part")
    try:
        with part.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _write_jsonl(rows: Rows, out: IO[bytes], columns: Columns) -> None:
    for row in rows:
        out.write(_json(row).encode() + b"\n")


def _write_csv(rows: Rows, out: IO[bytes], columns: Columns) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
    text.detach()


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return _json(value)
    if not isinstance(value, str):
        return value
    # A spreadsheet runs such a cell as a formula; a number is none.
    if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        value = "'" + value
    return storable(value)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else storable(text)


def _write_parquet(rows: Rows, out: IO[bytes], columns: Columns) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[Kind, pa.DataType] = {
        Kind.TEXT: pa.string(),
        Kind.INTEGER: pa.int64(),
        Kind.TIME: pa.timestamp("ms", tz="UTC"),
        Kind.TEXTS: pa.list_(pa.string()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    remaining = iter(rows)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        while group := list(islice(remaining, _ROWS_PER_GROUP)):
            arrays = {name: [_VALUES[kind](row[name]) for row in group] for name, kind in columns.items()}
            writer.write_table(pa.table(arrays, schema=schema))


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


_VALUES: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TEXT: _unless_none(storable),
    Kind.INTEGER: lambda value: value,
    Kind.TIME: _unless_none(datetime.fromisoformat),
    Kind.TEXTS: _unless_none(lambda texts: [storable(text) for text in texts]),
}

_WRITERS = {".jsonl": _write_jsonl, ".csv": _write_csv, ".parquet": _write_parquet}


def _writer(file: Path) -> Callable[[Rows, IO[bytes], Columns], None]:
    try:
        return _WRITERS[file.suffix.lower()]
    except KeyError:
        raise UsageError(f"{file}: the ending says the format: {', '.join(_WRITERS)}") from None
