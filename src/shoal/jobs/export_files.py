"""Writes the files that a job's items refer to: each content once, under a path made of its digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlalchemy import select

from shoal.errors import UsageError
from shoal.jobs.deployment import Deployment
from shoal.jobs.read_archived import read_archived
from shoal.object_store.contract import ObjectStore
from shoal.object_store.wait_for_store import wait_for_store
from shoal.store.archive.file_paths import file_path
from shoal.store.archive.segment_table import require_segments
from shoal.store.crawl.item_files import has_files, is_file
from shoal.store.jobs import Job
from shoal.store.tables import pages


class JobFile(NamedTuple):
    path: str
    """Made of its digest."""
    body: bytes


class WrittenFiles(NamedTuple):
    written: int
    already: int
    """Files that were there."""
    bytes: int
    """Of those that were written."""


def job_files(place: Deployment, job: Job) -> Iterator[JobFile]:
    """Raises UsageError if no item refers to a file."""
    if not has_files(place.store, job.id):
        raise UsageError(f"no item of job {job.id} refers to a file: give a field the type File (rules: type: file)")
    require_segments(place.store, place.archive, job.id)
    columns = pages.c.digest, pages.c.content_type, pages.c.archive
    good = pages.c.status.between(200, 299) | (pages.c.status == 304)
    wanted = select(*columns).where(pages.c.job == job.id, good, pages.c.archive.is_not(None), is_file())
    with place.store.read() as db:
        # The same content may have several addresses.
        found = {file_path(row.digest, row.content_type): row.archive for row in db.execute(wanted)}
    for path, reference in sorted(found.items(), key=lambda each: each[1]):
        yield JobFile(path, read_archived(place.archive, reference)[1])


def write_files(files: Iterable[JobFile], objects: ObjectStore) -> WrittenFiles:
    """A file that is there with the same name and size stays."""
    objects.check()
    written = already = size = 0
    for path, body in files:
        if wait_for_store(objects.size, path) == len(body):
            already += 1
            continue
        wait_for_store(objects.put, path, body)
        written, size = written + 1, size + len(body)
    return WrittenFiles(written, already, size)
