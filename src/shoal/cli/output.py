"""A job's data as a file: its items, its pages, its inputs or its archive."""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.errors import UsageError
from shoal.jobs.data import job_data
from shoal.store.archive.archive import Archive
from shoal.store.archive.segments import require_segments
from shoal.store.archive.spool import SEALED
from shoal.store.export import STDOUT, export, whole
from shoal.store.jobs import load_job
from shoal.store.store import Store


def write_data(store: Store, job: str, what: str, output: str) -> int:
    """Writes `items`, `pages` or `inputs` and returns how many records they were."""
    with job_data(store, load_job(store, job), what) as data:
        return export(data.rows, output, data.columns)


def write_warc(store: Store, archive: Archive, job: str, output: str) -> int:
    """Writes every record of the job's archive and returns how many bytes that were."""
    require_segments(store, archive, job)
    if not archive.segments(job):
        raise UsageError(f"job {job} has no archive: it was crawled with --no-archive, or has no answer yet")
    if output == STDOUT:
        return sum(map(sys.stdout.buffer.write, archive.chunks(job)))
    if not output.endswith(SEALED):
        raise UsageError(f"{output}: an archive is written to a file whose name ends with {SEALED}")
    with whole(Path(output)) as out:
        return sum(map(out.write, archive.chunks(job)))
