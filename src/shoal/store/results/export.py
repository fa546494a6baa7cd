"""Writes rows to a file whose name ends with the format.

The file is complete or does not exist: it is written as `.part` in the same folder, synced, then renamed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shoal.errors import MissingExtra, UsageError
from shoal.store.results.columns import Columns
from shoal.store.results.parquet import Chunk, Rows
from shoal.store.results.row_formats import FileFormat, file_chunks, format_of

STDOUT = "-"
"""As a path: JSON lines to standard output."""

_COPIED_AT_ONCE = 1 << 20


def check_writable(path: str) -> None:
    """Raises UsageError for a path that would make the export fail after the crawl."""
    if path == STDOUT:
        return
    file = Path(path)
    if format_of(file).rows == "parquet":
        check_pyarrow(path)
    if file.is_dir():
        raise UsageError(f"{path} is a directory: name a file")
    if file.exists() and not file.is_file():
        raise UsageError(f"{path} is no regular file: name one, or - for stdout")
    if not file.parent.is_dir():
        raise UsageError(f"{path}: there is no directory {file.parent}: create it first")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"{path}: you may not write in the directory {file.parent}: choose another one")
    if file.exists() and not os.access(file, os.W_OK):
        raise UsageError(f"{path}: you may not write this file: choose another one")


def check_pyarrow(path: str) -> None:
    """Raises MissingExtra."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra(f"{path}: Parquet needs pyarrow", "parquet")


def export(rows: Rows, path: str, columns: Columns, kept_bytes: int = 0) -> int:
    """Writes the rows and returns their number. They follow the first `kept_bytes` of the old file."""
    if path == STDOUT:
        written = write_chunks(file_chunks(rows, FileFormat("jsonl"), columns), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return written
    check_writable(path)
    file = Path(path)
    format = format_of(file)
    with atomic_write(file, kept_bytes) as out:
        kept = out.tell()
        if kept and format.streams and not _ends_line(file, kept):
            out.write(b"\n")
        return write_chunks(file_chunks(rows, format, columns, header=not kept), out)


def _ends_line(file: Path, length: int) -> bool:
    with file.open("rb") as old:
        old.seek(length - 1)
        return old.read(1) == b"\n"


def write_chunks(made: Iterator[Chunk], out: IO[bytes]) -> int:
    written = 0
    for chunk in made:
        out.write(chunk.data)
        written += chunk.rows
    return written


@contextmanager
def atomic_write(file: Path, kept_bytes: int = 0) -> Iterator[IO[bytes]]:
    """The new file begins with the first `kept_bytes` of the old one."""
    part = file.with_name(file.name + ".part")
    try:
        with part.open("wb") as out:
            if kept_bytes and file.exists():
                _copy(file, out, kept_bytes)
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _copy(file: Path, out: IO[bytes], most: int) -> None:
    with file.open("rb") as old:
        while most and (block := old.read(min(most, _COPIED_AT_ONCE))):
            out.write(block)
            most -= len(block)
