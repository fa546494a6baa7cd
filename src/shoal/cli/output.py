"""A job's data as a file: its items, its pages, its inputs or its archive."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from shoal.errors import UsageError
from shoal.jobs.data import job_data
from shoal.store.archive.spool import SEALED
from shoal.store.export import STDOUT, export, format_of, whole
from shoal.store.jobs import load_job
from shoal.store.store import Store


def write_data(store: Store, job: str, what: str, output: str) -> int:
    """Writes `items`, `pages` or `inputs` and returns how many records they were."""
    with job_data(store, load_job(store, job), what) as data:
        return export(data.rows, output, data.columns)


def write_exported(exported: Callable[[str], Iterable[bytes]], output: str) -> int | None:
    """Writes what is exported elsewhere, asked for by its format; how many records they were, as far as can be told."""
    if output == STDOUT:
        return sum(_written(block, sys.stdout.buffer) for block in exported("jsonl"))
    format = format_of(Path(output))
    with whole(Path(output)) as out:
        lines = sum(_written(block, out) for block in exported(format))
    if format == "jsonl":
        return lines
    return _csv_records(output) if format == "csv" else _parquet_records(output)


def _written(block: bytes, out: IO[bytes]) -> int:
    """How many lines end in it."""
    out.write(block)
    return block.count(b"\n")


def _csv_records(path: str) -> int:
    """The lines that are not within a cell, but for the header."""
    lines, quoted = 0, False
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            for place, part in enumerate(block.split(b'"')):
                quoted ^= place > 0
                lines += 0 if quoted else part.count(b"\n")
    return lines - 1


def _parquet_records(path: str) -> int | None:
    if importlib.util.find_spec("pyarrow") is None:
        return None
    from pyarrow.parquet import read_metadata

    return int(read_metadata(path).num_rows)


def write_warc(chunks: Iterable[bytes], output: str) -> int:
    """Writes an archive and returns how many bytes it was."""
    if output == STDOUT:
        return sum(map(sys.stdout.buffer.write, chunks))
    if not output.endswith(SEALED):
        raise UsageError(f"{output}: an archive is written to a file whose name ends with {SEALED}")
    with whole(Path(output)) as out:
        return sum(map(out.write, chunks))
