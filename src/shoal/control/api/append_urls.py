"""Appends URLs to a job: an array, or any number of lines, which are stored as they arrive."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from flask import request

from shoal.client.responses.jobs import Appended
from shoal.control.async_bridge import bridge
from shoal.control.auth import require_to_feed
from shoal.control.models.append_urls import UrlArray, UrlsQuery
from shoal.control.problems import FieldFault, Problem, conflict
from shoal.control.request_bodies import check_whole, received
from shoal.control.routes import SUBMIT, Reply, Routes
from shoal.fleet.append_urls import PART, Added, append
from shoal.model import JobState
from shoal.spiders.appended_urls import ArrayInputs, json_line_entries, line_entries, read_inputs
from shoal.spiders.url_lists import Entry
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
    """Append URLs to a job; a job that has ended continues with them.

    An array is stored completely or not at all, and may have an Idempotency-Key. Any number of lines (plain, JSON, or
    CSV with ?column=) can be sent: they are stored as they arrive, so most lines of an interrupted body are kept. The
    answer lists lines that are not valid URLs by number, with the reason; the others are kept. Only an admin may append
    URLs to a job with a password, or with options that need an admin.
    """
    require_to_feed(job.spec)
    if job.state is JobState.CANCELLED:
        raise conflict(f"job {job.id} is cancelled and takes no more URLs: submit them as a new job")
    _check(query)
    given = read_inputs(_streamed(query.column), job.spec) if body is None else ArrayInputs(body.root, job.spec)
    return _answer(job, bridge().run_apart(lambda fleet: append(fleet, job, given, whole=body is not None)))


def _check(query: UrlsQuery) -> None:
    is_csv = request.mimetype == CSV
    if is_csv != (query.column is not None):
        reason = f"it is required for {CSV}" if is_csv else f"it is only for {CSV}"
        raise Problem(422, f"column: {reason}", [FieldFault("column", reason)])


def _streamed(column: str | None) -> Iterator[Entry]:
    stream = cast(BinaryIO, io.BufferedReader(_Body(), _Body.AT_ONCE))
    return json_line_entries(stream) if request.mimetype == NDJSON else line_entries(stream, column)


def _answer(job: Job, added: Added) -> dict[str, Any]:
    return {
        "id": job.id,
        "accepted": added.accepted,
        "duplicates": added.duplicates,
        "rejected": [{"line": bad.line, "url": bad.spelt, "reason": bad.reason} for bad in added.bad],
        "rejected_count": added.rejected,
    }


class _Body(io.RawIOBase):
    """The request's body as a file object."""

    AT_ONCE = 1 << 16
    LOST = f": the lines that arrived are stored, except at most the last {PART:,}"

    def __init__(self) -> None:
        self._stream = request.stream
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = received(self._stream.read, len(buffer), self.LOST)
        if not some:
            check_whole(self._length, self.LOST)
        self._length += len(some)
        buffer[: len(some)] = some
        return len(some)
