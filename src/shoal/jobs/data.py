"""A job's data: its items, rejects, pages or inputs as rows with their columns, and its archive as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from shoal.errors import UsageError
from shoal.store.archive.archive import Archive
from shoal.store.archive.segments import require_segments
from shoal.store.columns import INPUT, REJECT, Columns, page_columns
from shoal.store.inputs import input_report
from shoal.store.items import item_table, list_rejects
from shoal.store.jobs import Job
from shoal.store.parquet import Rows
from shoal.store.records import Where, list_pages_with_content
from shoal.store.store import Store


class Data(NamedTuple):
    rows: Rows
    columns: Columns


def default_data(job: Job) -> str:
    """What the job was run for."""
    return "items" if job.gives_items else "pages"


@contextmanager
def job_data(store: Store, job: Job, what: str, where: Where | None = None) -> Iterator[Data]:
    """`items`, `rejects`, `pages` or `inputs`, of one moment; items and rejects may be of a type only."""
    if what == "inputs":
        yield Data(input_report(store, job.id), INPUT)
    elif what == "pages":
        formats = job.spec.formats
        yield Data(list_pages_with_content(store, job.id, {}, formats), page_columns(formats))
    elif what == "rejects":
        yield Data(list_rejects(store, job.id, where or {}), REJECT)
    else:
        with item_table(store, job.id, where or {}) as rows:
            yield Data(rows, rows.columns)


def archive_chunks(store: Store, archive: Archive, job: str) -> Iterator[bytes]:
    """Every record of the job's archive. Raises UsageError if there is none."""
    require_segments(store, archive, job)
    if not archive.segments(job):
        raise UsageError(
            f"job {job} has no archive: it was crawled with --no-archive or too small a --max-archive-bytes, "
            "or has no answer yet"
        )
    return archive.chunks(job)
