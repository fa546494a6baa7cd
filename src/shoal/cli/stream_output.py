"""Writes the data of a crawl while it runs: JSON lines and CSV, in whole lines.

The store is the truth, the file a copy of it. When a run begins, the file gets what is stored, so after a kill it has
each row once. When a run ends and the file is not what an export would be, it is replaced: a page was fetched again, an
item with the same key was found again, or a new column appeared. Other formats, objects in buckets and datasets are
written when the run ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import BinaryIO

from shoal.cli.output_file import OutputFile, check_not_in_use
from shoal.cli.progress_line import until
from shoal.cli.stdio import discard_output, until_reader_leaves
from shoal.cli.write_data_file import write_data
from shoal.engine.request_result import RequestResult
from shoal.file_lock import try_lock
from shoal.jobs.data_view import DataView, Row, default_data
from shoal.jobs.follow_data import DataFollower
from shoal.model import Drop, PageRecord
from shoal.store.jobs import Job
from shoal.store.results.export import STDOUT
from shoal.store.results.row_formats import FileFormat, csv_header, csv_rows, format_of, jsonl_rows
from shoal.store.store import Store

FLUSH_EVERY_S = 0.25
MOST_PAGES = 100
"""Pages read at once: each may have megabytes of text."""


def output_of(job: Job) -> OutputFile | None:
    """Where the job's data goes."""
    spec = job.spec
    if spec.output is None:
        return None
    view = DataView(spec.output_fields, spec.provenance, may_lack=spec.spider is not None)
    return OutputFile(spec.output, view, spec.output_kept_bytes, spec.output_partition, spec.output_overwrite)


class OutputStream:
    """Call `start`, then `add` for each result while `run` runs, then `finish`."""

    def __init__(self, store: Store, job: Job, output: OutputFile) -> None:
        self._store = store
        self._job = job
        self._output = output
        self._is_stdout = output.path == STDOUT
        self._is_file = not (self._is_stdout or output.is_dataset or output.is_remote)
        self._is_new = self._is_file and not Path(output.path).exists()
        self._format = format_of(Path(output.path)) if self._is_file else FileFormat("jsonl")
        self._data = DataFollower(store, job, output.view)
        self._saved: list[int] = []
        self._out: BinaryIO | None = None
        """None: nothing is written before the end."""
        self._written = 0
        self._needs_header = self._format.rows == "csv"
        self._failed = False
        """A write failed, and no further one is tried before the end."""

    def start(self) -> None:
        """Writes what is stored. Raises UsageError if the file cannot be written."""
        if not self._output.streams:
            return
        if self._is_stdout:
            self._out = sys.stdout.buffer
            with until_reader_leaves():
                self._written = self._write_all()
            return
        self._written = self._write_all()
        # Unbuffered: a line is in the file as soon as it is written, or not at all.
        self._out = Path(self._output.path).open("ab", buffering=0)  # noqa: SIM115 - until the run ends
        # For `check_not_in_use` of other crawls.
        try_lock(self._out)
        self._needs_header = self._needs_header and not self._out.tell()

    def add(self, result: RequestResult) -> None:
        # A request without an answer may give items too: it is a drop that an errors callback took.
        if self._out is not None and isinstance(result.record, PageRecord | Drop):
            self._saved.append(result.record.fingerprint)

    async def run(self, over: asyncio.Event) -> None:
        """Writes until the crawl is over."""
        while not await until(over, FLUSH_EVERY_S):
            if self._saved:
                await asyncio.to_thread(self._write_pages, self._take())
        await asyncio.to_thread(self._write_pages, self._take())

    def finish(self) -> int:
        """Returns the number of rows. Raises UsageError if the file cannot be written."""
        if self._is_stdout:
            return self._written
        if self._out is not None:
            self._out.close()
            complete = not self._failed and not self._needs_header and self._data.is_current(self._written)
            if complete:
                return self._written
        return self._write_all()

    def remove_if_empty(self, got_pages: bool) -> bool:
        """After a run that failed: removes the file that this run created, so that the mended command can write it.

        The columns of a table without rows are kept if the run got pages.
        """
        if not self._is_new or not self._data.is_empty or (got_pages and self._format.rows != "jsonl"):
            return False
        if self._out is not None:
            self._out.close()
        Path(self._output.path).unlink(missing_ok=True)
        return True

    def lacking_fields(self) -> list[str]:
        """The chosen fields that no item has, in words."""
        view = self._output.view
        return view.lacking(self._data.all_columns()) if view.fields and view.may_lack else []

    def _take(self) -> list[int]:
        # By the event loop, which also adds.
        saved, self._saved = self._saved, []
        return saved

    def _write_pages(self, pages: list[int]) -> None:
        for at in range(0, len(pages), MOST_PAGES):
            rows = [] if self._failed else self._data.rows(pages[at : at + MOST_PAGES])
            if rows:
                self._append(self._lines(rows))
                self._written += len(rows)

    def _lines(self, rows: list[Row]) -> bytes:
        if self._format.rows == "jsonl":
            return b"".join(chunk.data for chunk in jsonl_rows(rows, {}))
        columns = self._data.columns
        header = csv_header(columns) if self._needs_header else b""
        self._needs_header = False
        return header + b"".join(chunk.data for chunk in csv_rows(rows, columns))

    def _append(self, lines: bytes) -> None:
        assert self._out is not None
        try:
            if self._is_stdout:
                self._out.write(lines)
                self._out.flush()
            else:
                _write_whole(self._out, lines)
        except BrokenPipeError:
            discard_output()
            self._failed = True
        except OSError:
            # The end of the run writes the file again, and reports it if that fails too.
            self._failed = True

    def _write_all(self) -> int:
        if self._is_file:
            check_not_in_use(self._output.path)
        return write_data(self._store, self._job.id, default_data(self._job), self._output)


def _write_whole(out: BinaryIO, lines: bytes) -> None:
    """Writes all lines or none."""
    began = os.fstat(out.fileno()).st_size
    left = memoryview(lines)
    try:
        while left:
            left = left[out.write(left) :]
    except OSError:
        out.truncate(began)
        raise
