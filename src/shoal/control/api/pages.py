"""A job's data whole, as streams: exported, its archive, what differs from another's; and the body of one page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from flask import Response

from shoal.control.attachments import attachment
from shoal.control.bridge import bridge
from shoal.control.models.records import DiffQuery, ExportQuery
from shoal.control.ownership import find_named
from shoal.control.problems import Problem
from shoal.control.routes import READ, Reply, Routes
from shoal.errors import UsageError
from shoal.jobs.bodies import kept_body
from shoal.jobs.data import archive_chunks, default_data, job_data
from shoal.store.diff import differences
from shoal.store.export import chunks
from shoal.store.jobs import Job
from shoal.store.store import Store

routes = Routes("pages")
MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
LINES, ARCHIVE = MEDIA["jsonl"], "application/gzip"
_FINGERPRINT = re.compile("[0-9a-f]{16}")


@routes.get("/jobs/<id>/export", READ, answers={200: tuple(MEDIA.values())}, query=ExportQuery)
def export(job: Job, query: ExportQuery) -> Reply:
    """Export a job's data as a file; of a job that still runs, what is there so far."""
    what = query.what or default_data(job)
    parts = _parts(bridge().store, job, what, query)
    return attachment(parts, MEDIA[query.format], f"{job.id}-{what}.{query.format}")


@routes.get("/jobs/<id>/archive", READ, answers={200: (ARCHIVE,)})
def archive(job: Job) -> Reply:
    """Export a job's archive: every request and answer, as one .warc.gz; of a job that has none it is 404."""
    try:
        return attachment(_archived(job), ARCHIVE, f"{job.id}.warc.gz")
    except UsageError as error:
        raise Problem(404, str(error)) from error


@routes.get("/jobs/<id>/diff", READ, answers={200: (LINES,)}, query=DiffQuery)
def diff(job: Job, query: DiffQuery) -> Reply:
    """Say which pages and items another job has more, less or otherwise, a JSON object a line."""
    after = find_named(query.other)
    return attachment(_differences(bridge().store, job, after), LINES, f"{job.id}-{after.id}.jsonl")


@routes.get("/jobs/<id>/pages/<fingerprint>/body", READ, answers={200: ("application/octet-stream",)})
def body(job: Job, fingerprint: str) -> Reply:
    """The archived body of a page, as a file to be saved: never shown as if it were this site's."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise Problem(404, f"job {job.id} has no page {fingerprint!r}: fingerprints are 16 hex digits")
    try:
        with bridge().apart() as fleet:
            kept = kept_body(fleet, job.id, fingerprint)
    except UsageError as error:
        raise Problem(404, str(error)) from error
    name = {"Content-Disposition": f'attachment; filename="{fingerprint}"'}
    return Response(kept.body, headers=name, content_type="application/octet-stream")


def _parts(store: Store, job: Job, what: str, query: ExportQuery) -> Iterator[bytes]:
    where = {} if query.type is None else {"type": query.type}
    with job_data(store, job, what, where) as data:
        for chunk in chunks(data.rows, f".{query.format}", data.columns):
            yield chunk.data


def _archived(job: Job) -> Iterator[bytes]:
    with bridge().apart() as fleet:
        yield from archive_chunks(fleet.store, fleet.archive, job.id)


def _differences(store: Store, before: Job, after: Job) -> Iterator[bytes]:
    for one in differences(store, before.id, after.id):
        yield json.dumps(one.as_dict(), ensure_ascii=False).encode() + b"\n"
