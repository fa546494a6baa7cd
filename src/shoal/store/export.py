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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from shoal.errors import MissingExtra, UsageError
from shoal.store.columns import Columns
from shoal.store.parquet import Chunk, Rows, parquet
from shoal.store.text import storable

STDOUT = "-"
"""As a path: JSON lines on standard output."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")


def check_writable(path: str) -> None:
    """Raises UsageError now for what would otherwise spoil the export after the crawl."""
    if path == STDOUT:
        return
    file = Path(path)
    if _format(file) is parquet and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra(f"{path}: Parquet needs pyarrow", "parquet")
    if file.is_dir():
        raise UsageError(f"{path} is a directory: name a file in it")
    if not file.parent.is_dir():
        raise UsageError(f"{path}: there is no directory {file.parent}: make it first")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"{path}: the directory {file.parent} cannot be written")


def export(rows: Rows, path: str, columns: Columns) -> int:
    """Writes the rows and returns how many they were. What `parquet` asks of them holds here too."""
    if path == STDOUT:
        written = _written(chunks(rows, ".jsonl", columns), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return written
    check_writable(path)
    file = Path(path)
    with whole(file) as out:
        return _written(_format(file)(rows, columns), out)


def chunks(rows: Rows, ending: str, columns: Columns) -> Iterator[Chunk]:
    """The same as it is made, for whoever sends it on: by the ending that a file of this format has."""
    return _FORMATS[ending](rows, columns)


def _written(made: Iterator[Chunk], out: IO[bytes]) -> int:
    written = 0
    for chunk in made:
        out.write(chunk.data)
        written += chunk.rows
    return written


@contextmanager
def whole(file: Path) -> Iterator[IO[bytes]]:
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


def _jsonl(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    for row in rows:
        yield Chunk(_json(row).encode() + b"\n", 1)


def _csv(rows: Rows, columns: Columns) -> Iterator[Chunk]:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    yield Chunk(text.getvalue().encode(), 0)
    for row in rows:
        text.seek(0)
        text.truncate()
        writer.writerow([_cell(row.get(name)) for name in columns])
        yield Chunk(text.getvalue().encode(), 1)


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict | bool):
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


_FORMATS: dict[str, Callable[[Rows, Columns], Iterator[Chunk]]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": parquet}


def format_of(file: Path) -> str:
    """By its ending. Raises UsageError if that names none."""
    if file.suffix.lower() not in _FORMATS:
        raise UsageError(f"{file}: the ending says the format: {', '.join(_FORMATS)}")
    return file.suffix.lower().removeprefix(".")


def _format(file: Path) -> Callable[[Rows, Columns], Iterator[Chunk]]:
    return _FORMATS[f".{format_of(file)}"]
