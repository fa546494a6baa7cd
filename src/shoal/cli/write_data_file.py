"""Writes a job's data to a file: its items, pages, inputs or archive."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from shoal.cli.output_file import OutputFile, check_archive_name, check_columns, shown_path
from shoal.jobs.data_view import DataView
from shoal.jobs.job_data import job_data
from shoal.object_store.object_url import ObjectUrl, is_bucket_url
from shoal.object_store.open_store import open_store
from shoal.store.jobs import Job, load_job
from shoal.store.results.columns import Kind
from shoal.store.results.export import STDOUT, atomic_write, export, write_chunks
from shoal.store.results.parquet import Chunk
from shoal.store.results.put_chunks import put_chunks
from shoal.store.results.row_formats import compressed, file_chunks, format_of
from shoal.store.store import Store

Exported = Callable[[str, DataView], Iterable[bytes]]
"""Takes the format and what to show."""


def write_data(store: Store, job: str, what: str, output: OutputFile) -> int:
    """Writes `items`, `pages` or `inputs` and returns the number of records."""
    loaded = load_job(store, job)
    if output.is_dataset:
        from shoal.cli.write_dataset import write_stored_dataset

        return write_stored_dataset(store, loaded, what, output)
    with job_data(store, loaded, what, view=output.view) as data:
        if output.kept_bytes and data.columns:
            check_columns(output._replace(view=DataView()), what, data.columns, True)
        if output.is_remote:
            format = format_of(Path(output.path))
            return _put(output.path, lambda: file_chunks(data.rows, format, data.columns))
        return export(data.rows, shown_path(output.path), data.columns, output.kept_bytes)


def write_exported(exported: Exported, job: Job, what: str, output: OutputFile) -> int | None:
    """Writes the export of an API. Returns the number of records, None if unknown."""
    if output.path == STDOUT:
        return write_chunks(_jsonl(exported("jsonl", output.view)), sys.stdout.buffer)
    if output.is_dataset:
        from shoal.cli.write_dataset import write_exported_dataset

        return write_exported_dataset(exported, job, what, output)
    file = Path(shown_path(output.path))
    format = format_of(file)
    blocks = exported(format.rows, output.view)
    if output.is_remote:
        made = _csv(blocks, None) if format.rows == "csv" else _jsonl(blocks)
        written: int | None = _put(output.path, lambda: compressed(made, format.compression))
        return written if format.rows in ("jsonl", "csv") else None
    with atomic_write(file, output.kept_bytes) as out:
        if format.rows == "csv":
            made = _csv(blocks, output if out.tell() else None)
        else:
            made = _jsonl(blocks)
        written = write_chunks(compressed(made, format.compression), out)
    if format.rows in ("jsonl", "csv"):
        return written
    return _parquet_records(file) if format.rows == "parquet" else None


def _put(url: str, make: Callable[[], Iterable[Chunk]]) -> int:
    folder, name = ObjectUrl.parse(url).split()
    return put_chunks(open_store(folder), name, make())


def _jsonl(blocks: Iterable[bytes]) -> Iterator[Chunk]:
    return (Chunk(block, block.count(b"\n")) for block in blocks)


def _csv(blocks: Iterable[bytes], appended_to: OutputFile | None) -> Iterator[Chunk]:
    """Counts the lines without the header, and leaves the header out if the data is added to a file."""
    quoted, header, is_first = False, b"", True
    for block in blocks:
        if is_first:
            header += block
            if b"\n" not in header:
                continue
            is_first = False
            header, newline, block = header.partition(b"\n")
            if appended_to is None:
                yield Chunk(header + newline, 0)
            else:
                names = header.decode().strip().split(",")
                check_columns(appended_to, "items", dict.fromkeys(names, Kind.TEXT), True)
        lines = 0
        for place, part in enumerate(block.split(b'"')):
            quoted ^= place > 0
            # A line break inside a cell does not count.
            lines += 0 if quoted else part.count(b"\n")
        yield Chunk(block, lines)


def _parquet_records(file: Path) -> int | None:
    if importlib.util.find_spec("pyarrow") is None:
        return None
    from pyarrow.parquet import read_metadata

    return int(read_metadata(file).num_rows)


def write_warc(chunks: Iterable[bytes], output: str) -> int:
    """Writes an archive and returns its size in bytes."""
    if output == STDOUT:
        return sum(map(sys.stdout.buffer.write, chunks))
    if is_bucket_url(output):
        return _put(output, lambda: (Chunk(chunk, len(chunk)) for chunk in chunks))
    check_archive_name(Path(output))
    with atomic_write(Path(output)) as out:
        return sum(map(out.write, chunks))
