"""Streams a job's data: exports, the archive, files of items, differences to another job, and the body of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from flask import Response

from shoal.control.async_bridge import bridge
from shoal.control.models.records import DiffQuery, ExportQuery
from shoal.control.ownership import find_job
from shoal.control.problems import Problem
from shoal.control.routes import READ, Reply, Routes
from shoal.control.streamed_files import attachment
from shoal.errors import UsageError
from shoal.jobs.archived_bodies import archived_body
from shoal.jobs.data_view import DataView, default_data
from shoal.jobs.export_files import job_files
from shoal.jobs.files_tar import tar_of
from shoal.jobs.job_data import archive_chunks, job_data
from shoal.store.jobs import Job
from shoal.store.results.job_diff import differences
from shoal.store.results.row_formats import chunks
from shoal.store.store import Store

routes = Routes("pages")
MEDIA = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
LINES, ARCHIVE, TAR = MEDIA["jsonl"], "application/gzip", "application/x-tar"
_FINGERPRINT = re.compile("[0-9a-f]{16}")


@routes.get("/jobs/<id>/export", READ, answers={200: tuple(MEDIA.values())}, query=ExportQuery)
def export(job: Job, query: ExportQuery) -> Reply:
    """Export a job's data as a file; for a job that still runs, the data stored so far."""
    what = query.what or default_data(job)
    parts = _parts(bridge().store, job, what, query)
    return attachment(parts, MEDIA[query.format], f"{job.id}-{what}.{query.format}")


@routes.get("/jobs/<id>/archive", READ, answers={200: (ARCHIVE,)})
def archive(job: Job) -> Reply:
    """Export a job's archive: every request and response, as one .warc.gz; 404 for a job without an archive."""
    try:
        return attachment(_archived(job), ARCHIVE, f"{job.id}.warc.gz")
    except UsageError as error:
        raise Problem(404, str(error)) from error


@routes.get("/jobs/<id>/files", READ, answers={200: (TAR,)})
def files(job: Job) -> Reply:
    """Export the files that items refer to, each content once, as one .tar; 404 if no item refers to a file."""
    try:
        return attachment(_files(job), TAR, f"{job.id}-files.tar")
    except UsageError as error:
        raise Problem(404, str(error)) from error


@routes.get("/jobs/<id>/diff", READ, answers={200: (LINES,)}, query=DiffQuery)
def diff(job: Job, query: DiffQuery) -> Reply:
    """Compare with another job: pages and items that were added, are gone or have changed, one JSON object per line."""
    after = find_job(query.other)
    return attachment(_differences(bridge().store, job, after), LINES, f"{job.id}-{after.id}.jsonl")


@routes.get("/jobs/<id>/pages/<fingerprint>/body", READ, answers={200: ("application/octet-stream",)})
def body(job: Job, fingerprint: str) -> Reply:
    """The archived body of a page, as a download: browsers never show it as a page of this site."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise Problem(404, f"job {job.id} has no page {fingerprint!r}: fingerprints are 16 hex digits")
    try:
        with bridge().apart() as fleet:
            kept = archived_body(fleet, job.id, fingerprint)
    except UsageError as error:
        raise Problem(404, str(error)) from error
    name = {"Content-Disposition": f'attachment; filename="{fingerprint}"'}
    return Response(kept.body, headers=name, content_type="application/octet-stream")


def _parts(store: Store, job: Job, what: str, query: ExportQuery) -> Iterator[bytes]:
    where = {} if query.type is None else {"type": query.type}
    fields = tuple(query.fields.split(",")) if query.fields else ()
    with job_data(store, job, what, where, DataView(fields, query.provenance)) as data:
        for chunk in chunks(data.rows, query.format, data.columns):
            yield chunk.data


def _archived(job: Job) -> Iterator[bytes]:
    with bridge().apart() as fleet:
        yield from archive_chunks(fleet.store, fleet.archive, job.id)


def _files(job: Job) -> Iterator[bytes]:
    with bridge().apart() as fleet:
        yield from tar_of(job_files(fleet, job))


def _differences(store: Store, before: Job, after: Job) -> Iterator[bytes]:
    for one in differences(store, before.id, after.id):
        yield json.dumps(one.as_dict(), ensure_ascii=False).encode() + b"\n"
