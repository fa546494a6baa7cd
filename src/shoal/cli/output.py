"""A job's data as a file: its items, its pages, its inputs or its archive."""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.errors import UsageError
from shoal.store.archive.archive import SEALED, Archive
from shoal.store.columns import INPUT, page_columns
from shoal.store.export import STDOUT, export, whole
from shoal.store.inputs import input_report
from shoal.store.items import item_table
from shoal.store.jobs import Job, load_job
from shoal.store.records import list_pages_with_content
from shoal.store.store import Store


def default_data(job: Job) -> str:
    """What the job was run for."""
    return "items" if job.gives_items else "pages"


def write_data(store: Store, job: str, what: str, output: str) -> int:
    """Writes `items`, `pages` or `inputs` and returns how many records they were."""
    if what == "inputs":
        return export(input_report(store, job), output, INPUT)
    if what == "pages":
        formats = load_job(store, job).spec.formats
        return export(list_pages_with_content(store, job, {}, formats), output, page_columns(formats))
    with item_table(store, job, {}) as rows:
        return export(rows, output, rows.columns)


def write_warc(archive: Archive, job: str, output: str) -> int:
    """Writes every record of the job's archive and returns how many bytes that were."""
    if not archive.segments(job):
        raise UsageError(f"job {job} has no archive: it was crawled with --no-archive, or has no answer yet")
    if output == STDOUT:
        return sum(map(sys.stdout.buffer.write, archive.chunks(job)))
    if not output.endswith(SEALED):
        raise UsageError(f"{output}: an archive is written to a file whose name ends with {SEALED}")
    with whole(Path(output)) as out:
        return sum(map(out.write, archive.chunks(job)))
