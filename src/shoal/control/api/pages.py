"""A job's data whole: exported as a stream, and the archived body of one page."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import chain
from threading import BoundedSemaphore

from flask import Response
from werkzeug.wsgi import ClosingIterator

from shoal.control.bridge import bridge
from shoal.control.figures import find
from shoal.control.models.records import ExportQuery
from shoal.control.problems import RETRY_S, Problem
from shoal.control.routes import READ, Reply, Routes
from shoal.errors import UsageError
from shoal.jobs.bodies import kept_body
from shoal.jobs.data import default_data, job_data
from shoal.store.export import chunks
from shoal.store.jobs import Job
from shoal.store.store import Store

routes = Routes("pages")
MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
SENT_AT_ONCE = 1 << 16
AT_ONCE = 4
"""Exports of one process: each holds a connection to the database for as long as its reader takes."""
_SLOTS = BoundedSemaphore(AT_ONCE)
_FINGERPRINT = re.compile("[0-9a-f]{16}")


@routes.get("/jobs/<id>/export", READ, answers={200: tuple(MEDIA.values())}, query=ExportQuery)
def export(id: str, query: ExportQuery) -> Reply:
    """Export a job's data as a file; of a job that still runs, what is there so far."""
    job = find(id)
    what = query.what or default_data(job)
    name = {"Content-Disposition": f'attachment; filename="{id}-{what}.{query.format}"'}
    if not _SLOTS.acquire(blocking=False):
        raise Problem(503, f"{AT_ONCE} exports are being sent: try again", headers={"Retry-After": str(RETRY_S)})
    stream = _stream(bridge().store, job, what, query.format)
    # Read up to its first bytes here, where what is wrong can still be answered.
    first = next(stream, b"")
    sent = ClosingIterator(chain([first], stream), stream.close)
    return Response(sent, headers=name, content_type=MEDIA[query.format])


@routes.get("/jobs/<id>/pages/<fingerprint>/body", READ, answers={200: ("application/octet-stream",)})
def body(id: str, fingerprint: str) -> Reply:
    """The archived body of a page, as a file to be saved: never shown as if it were this site's."""
    job = find(id)
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise Problem(404, f"job {id} has no page {fingerprint!r}: fingerprints are 16 hex digits")
    try:
        with bridge().apart() as fleet:
            kept = kept_body(fleet, job.id, fingerprint)
    except UsageError as error:
        raise Problem(404, str(error)) from error
    name = {"Content-Disposition": f'attachment; filename="{fingerprint}"'}
    return Response(kept.body, headers=name, content_type="application/octet-stream")


def _stream(store: Store, job: Job, what: str, format: str) -> Generator[bytes, None, None]:
    """Holds a slot from its first part to its last."""
    try:
        yield from _parts(store, job, what, format)
    finally:
        _SLOTS.release()


def _parts(store: Store, job: Job, what: str, format: str) -> Iterator[bytes]:
    held: list[bytes] = []
    held_bytes = 0
    with job_data(store, job, what) as data:
        for chunk in chunks(data.rows, f".{format}", data.columns):
            held.append(chunk.data)
            held_bytes += len(chunk.data)
            if held_bytes >= SENT_AT_ONCE:
                yield b"".join(held)
                held, held_bytes = [], 0
    yield b"".join(held)
