"""More URLs for a job: an array, or lines of any number, stored as they arrive."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from flask import request

from shoal.control.auth import require_to_feed
from shoal.control.bodies import check_whole, received
from shoal.control.bridge import bridge
from shoal.control.models.urls import Appended, UrlArray, UrlsQuery
from shoal.control.problems import FieldFault, Problem, conflict
from shoal.control.routes import SUBMIT, Reply, Routes
from shoal.fleet.append import PART, Added, append
from shoal.model import JobState
from shoal.spiders.appended import ArrayInputs, json_entries, line_entries, read_inputs
from shoal.spiders.lists import Entry
from shoal.store.jobs import Job

routes = Routes("urls")
LINES, NDJSON, CSV = "text/plain", "application/x-ndjson", "text/csv"


@routes.post(
    "/jobs/<id>/urls",
    SUBMIT,
    answers={200: Appended},
    body=UrlArray,
    query=UrlsQuery,
    counted=True,
    keyed=True,
    streams=(LINES, NDJSON, CSV),
)
def append_urls(job: Job, query: UrlsQuery, body: UrlArray | None = None) -> Reply:
    """Append URLs to a job, which goes on with them if it had ended.

    An array is stored whole or not at all, and may carry an Idempotency-Key. Lines (plain, JSON, or CSV with ?column=)
    may be any number: they are stored as they arrive, so of a body that breaks off most are kept. A line that is no
    URL is told with its number and the reason, and the others are kept. A job that was given what needs an admin, or
    has a password, is fed by an admin only.
    """
    require_to_feed(job.spec)
    if job.state is JobState.CANCELLED:
        raise conflict(f"job {job.id} was cancelled, which is for good: submit these URLs as a job of their own")
    _check(query)
    given = read_inputs(_streamed(query.column), job.spec) if body is None else ArrayInputs(body.root, job.spec)
    return _told(job, bridge().run_apart(lambda fleet: append(fleet, job, given, whole=body is not None)))


def _check(query: UrlsQuery) -> None:
    is_csv = request.mimetype == CSV
    if is_csv != (query.column is not None):
        reason = f"name it for {CSV}" if is_csv else f"it is for {CSV}"
        raise Problem(422, f"column: {reason}", [FieldFault("column", reason)])


def _streamed(column: str | None) -> Iterator[Entry]:
    stream = cast(BinaryIO, io.BufferedReader(_Body(), _Body.AT_ONCE))
    return json_entries(stream) if request.mimetype == NDJSON else line_entries(stream, column)


def _told(job: Job, added: Added) -> dict[str, Any]:
    return {
        "id": job.id,
        "accepted": added.accepted,
        "duplicates": added.duplicates,
        "rejected": [{"line": bad.line, "url": bad.spelt, "reason": bad.reason} for bad in added.bad],
        "rejected_count": added.rejected,
    }


class _Body(io.RawIOBase):
    """The request's body as a file, whatever server it comes through."""

    AT_ONCE = 1 << 16
    LOST = f": what had come is kept, but for the last {PART:,} lines at most"

    def __init__(self) -> None:
        self._stream = request.stream
        self._come = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = received(self._stream.read, len(buffer), self.LOST)
        if not some:
            check_whole(self._come, self.LOST)
        self._come += len(some)
        buffer[: len(some)] = some
        return len(some)
