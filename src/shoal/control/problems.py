"""Turns every error of the API into `application/problem+json`: one table maps exceptions to status codes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from flask import Flask, Response, g
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from werkzeug.exceptions import HTTPException

from shoal.control.field_description import field_description
from shoal.control.nearest_field import did_you_mean_field
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
from shoal.fleet.append_urls import TooMuchQueued
from shoal.jobs.deployment import nothing_to
from shoal.model import reached_limit
from shoal.model.options import FIELDS
from shoal.store.jobs import Job
from shoal.telemetry import EventLogger

MEDIA = "application/problem+json"
TYPES = "/docs#problem-"
RETRY_S = 5
FULL_RETRY_S = 30
FAULTS_SHOWN = 20
"""A response lists at most this many faults, and counts the others."""
DETAIL_CHARS, FIELD_CHARS, REASON_CHARS = 10_000, 200, 500
"""Maximum lengths, so that a response does not grow with the request."""
_STEP_CHARS = 60
log = EventLogger(__name__)


class FieldFault(NamedTuple):
    field: str
    """The path of the field, such as `limits.pages` or `urls[3]`."""
    reason: str


class Problem(Exception):
    """An error response for which Shoal has no exception of its own."""

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
"""The nearest base class counts; an exception without one here is a bug, and a 500."""


def register(app: Flask) -> None:
    app.register_error_handler(Problem, _answer)
    app.register_error_handler(ShoalError, _answer_ours)
    app.register_error_handler(ValidationError, _answer_invalid)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_bug)


def conflict(detail: str, retry_s: int | None = None) -> Problem:
    """The request conflicts with the current state."""
    return Problem(409, detail, headers={} if retry_s is None else {"Retry-After": str(retry_s)})


def has_ended(verb: str, job: Job) -> Problem:
    """The problem for a call that needs a running job. For a limited job it names the call that raises the limit."""
    limit = reached_limit(job.reason)
    if limit is None or verb not in ("resume", "change"):
        return conflict(nothing_to(verb, job, job.state))
    return conflict(
        f"job {job.id} is {job.state} ({job.reason}); to continue it, raise the limit: PATCH "
        f'/api/v1/jobs/{job.id} with {{"{FIELDS[f"limits.{limit}"].name}": N}}, N above '
        f"{getattr(job.spec.limits, limit)}"
    )


def invalid(faults: Sequence[FieldFault]) -> Problem:
    """The problem for a request with one or more invalid fields."""
    parts = [f"{_cut(fault.field, FIELD_CHARS)}: {_cut(fault.reason, REASON_CHARS)}" for fault in faults[:3]]
    more = len(faults) - len(parts)
    return Problem(422, "; ".join([*parts, *([f"and {more:,} more"] if more else [])]), faults)


def unreadable(error: ValidationError, model: type[BaseModel] | None = None) -> Problem:
    """The problem for a body or query that its model refused. With the model it names the nearest known fields."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in faults):
        return Problem(400, faults[0]["msg"])
    faults = [fault for fault in faults if not _follows_from_entry(fault, faults)]
    shown, others = faults[:FAULTS_SHOWN], faults[FAULTS_SHOWN:]
    named = [FieldFault(_place(fault["loc"]), _reason(fault, model)) for fault in shown]
    return invalid(named + [FieldFault(_place(fault["loc"]), "") for fault in others])


def _follows_from_entry(fault: ErrorDetails, faults: Sequence[ErrorDetails]) -> bool:
    """Pydantic counts only valid entries: it calls a list too short as well if its first entry is invalid."""
    place = fault["loc"]
    depth = len(place)
    return fault["type"] == "too_short" and any(
        len(other["loc"]) > depth and other["loc"][:depth] == place for other in faults
    )


def _reason(fault: ErrorDetails, model: type[BaseModel] | None) -> str:
    if fault["type"] == "string_pattern_mismatch" and model and (about := field_description(model, fault["loc"])):
        return f"not in the expected form. {about}"
    if fault["type"] != "extra_forbidden":
        return fault["msg"].removeprefix("Value error, ")
    return "unknown field" + (did_you_mean_field(model, fault["loc"]) if model else "")


def _answer(problem: Problem) -> Response:
    title = HTTPStatus(problem.status).phrase
    body = {
        "type": f"{TYPES}{problem.status}",
        "title": title,
        "status": problem.status,
        "detail": _cut(problem.detail, DETAIL_CHARS),
        "request_id": g.get("request_id"),
        **({"errors": [_fault_fields(fault) for fault in problem.faults[:FAULTS_SHOWN]]} if problem.faults else {}),
        **({"more_errors": more} if (more := len(problem.faults) - FAULTS_SHOWN) > 0 else {}),
    }
    return Response(json.dumps(body), problem.status, dict(problem.headers), content_type=MEDIA)


def _fault_fields(fault: FieldFault) -> dict[str, str]:
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
    return _answer(unreadable(error))


def _place(location: tuple[int | str, ...]) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{_cut(step, _STEP_CHARS)}" for step in location)
    return place.removeprefix(".") or "body"


def _answer_http(error: HTTPException) -> Response:
    # Keep Werkzeug's headers: a 405 needs Allow.
    kept = {
        name: value for name, value in error.get_headers() if name.lower() not in ("content-type", "content-length")
    }
    return _answer(Problem(error.code or 500, error.description or "", headers=kept))


def _answer_bug(error: Exception) -> Response:
    # Unexpected exceptions end here; the client gets the id under which the traceback is logged.
    log.exception("request_failed", f"request {g.get('request_id')} failed with an unexpected exception")
    return _answer(Problem(500, "this is a bug in Shoal; the API's log has the traceback under this request id"))
