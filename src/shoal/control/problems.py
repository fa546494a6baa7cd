"""Every error of the API as `application/problem+json`: one table from what is raised to what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from flask import Flask, Response, g
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException

from shoal.errors import (
    FrontierFull,
    FrontierLost,
    NeedsAdmin,
    ShoalError,
    Unavailable,
    UnknownHost,
    UnknownJob,
    UsageError,
)
from shoal.fleet.append import TooMuchQueued
from shoal.jobs.place import nothing_to
from shoal.model import reached_limit
from shoal.store.jobs import Job
from shoal.telemetry import Events

MEDIA = "application/problem+json"
TYPES = "/docs#problem-"
RETRY_S = 5
FULL_RETRY_S = 30
FAULTS_TOLD = 20
"""Of a request that has more, the others are counted."""
DETAIL_CHARS, FIELD_CHARS, REASON_CHARS = 10_000, 200, 500
"""What is told never grows with what was sent."""
_STEP_CHARS = 60
log = Events(__name__)


class FieldFault(NamedTuple):
    field: str
    """Where it stands, as in `limits.pages` or `urls[3]`."""
    reason: str


class Problem(Exception):
    """Raised by whoever answers a request, when none of Shoal's own errors says it."""

    def __init__(
        self, status: int, detail: str, faults: Sequence[FieldFault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.faults = faults
        self.headers = headers or {}


class _Meaning(NamedTuple):
    status: int
    retry_s: int | None = None


_REASONS = {"extra_forbidden": "there is no such field"}
"""In place of what pydantic says."""
_MEANINGS: dict[type[ShoalError], _Meaning] = {
    UnknownJob: _Meaning(404),
    UnknownHost: _Meaning(404),
    NeedsAdmin: _Meaning(403),
    UsageError: _Meaning(422),
    FrontierFull: _Meaning(503, FULL_RETRY_S),
    FrontierLost: _Meaning(503, FULL_RETRY_S),
    TooMuchQueued: _Meaning(429, FULL_RETRY_S),
    Unavailable: _Meaning(503, RETRY_S),
}
"""The nearest class above counts; what has none here is a bug, and 500."""


def register(app: Flask) -> None:
    app.register_error_handler(Problem, _answer)
    app.register_error_handler(ShoalError, _answer_ours)
    app.register_error_handler(ValidationError, _answer_invalid)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_bug)


def conflict(detail: str, retry_s: int | None = None) -> Problem:
    """What was asked for does not go with how things stand."""
    return Problem(409, detail, headers={} if retry_s is None else {"Retry-After": str(retry_s)})


def has_ended(wish: str, job: Job) -> Problem:
    """Of a wish for a job that is still worked on; one that a limit ended is told the call that lets it go on."""
    limit = reached_limit(job.reason)
    if limit is None or wish not in ("resume", "change"):
        return conflict(nothing_to(wish, job, job.state))
    return conflict(
        f"job {job.id} is {job.state}, {job.reason}: only with a higher limit can it go on, by PATCH "
        f'/api/v1/jobs/{job.id} with {{"limits": {{"{limit}": N}}}}, N above {getattr(job.spec.limits, limit)}'
    )


def invalid(faults: Sequence[FieldFault]) -> Problem:
    """Of a request with these faults, one or more."""
    words = [f"{_cut(fault.field, FIELD_CHARS)}: {_cut(fault.reason, REASON_CHARS)}" for fault in faults[:3]]
    more = len(faults) - len(words)
    return Problem(422, "; ".join([*words, *([f"and {more:,} more"] if more else [])]), faults)


def _answer(problem: Problem) -> Response:
    title = HTTPStatus(problem.status).phrase
    body = {
        "type": f"{TYPES}{problem.status}",
        "title": title,
        "status": problem.status,
        "detail": _cut(problem.detail, DETAIL_CHARS),
        "request_id": g.get("request_id"),
        **({"errors": [_told(fault) for fault in problem.faults[:FAULTS_TOLD]]} if problem.faults else {}),
        **({"more_errors": more} if (more := len(problem.faults) - FAULTS_TOLD) > 0 else {}),
    }
    return Response(json.dumps(body), problem.status, dict(problem.headers), content_type=MEDIA)


def _told(fault: FieldFault) -> dict[str, str]:
    return {"field": _cut(fault.field, FIELD_CHARS), "reason": _cut(fault.reason, REASON_CHARS)}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _answer_ours(error: ShoalError) -> Response:
    meaning = next((_MEANINGS[kind] for kind in type(error).__mro__ if kind in _MEANINGS), None)
    if meaning is None:
        return _answer_bug(error)
    headers = {} if meaning.retry_s is None else {"Retry-After": str(meaning.retry_s)}
    return _answer(Problem(meaning.status, str(error), headers=headers))


def _answer_invalid(error: ValidationError) -> Response:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in faults):
        return _answer(Problem(400, faults[0]["msg"]))
    named = [FieldFault(_place(fault["loc"]), _REASONS.get(fault["type"], fault["msg"])) for fault in faults]
    return _answer(invalid(named))


def _place(location: tuple[int | str, ...]) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{_cut(step, _STEP_CHARS)}" for step in location)
    return place.removeprefix(".") or "body"


def _answer_http(error: HTTPException) -> Response:
    # As Werkzeug made them: 405 says what is allowed.
    kept = {
        name: value for name, value in error.get_headers() if name.lower() not in ("content-type", "content-length")
    }
    return _answer(Problem(error.code or 500, error.description or "", headers=kept))


def _answer_bug(error: Exception) -> Response:
    # The one place where a bug of ours ends; the id leads whoever was told of it to this line.
    log.exception("request_failed", f"request {g.get('request_id')} met a bug")
    return _answer(Problem(500, "this is a bug in Shoal; the log of the API has it under the request's id"))
