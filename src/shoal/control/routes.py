"""Declares endpoints: a function with its path, its scope, and the models of its input and output.

    routes = Routes("jobs")

    @routes.get("/jobs/<id>", READ, answers={200: JobResponse})
    def job(job: Job) -> Reply:
        \"\"\"One job's figures.\"\"\"
        return figures_of(job)

    @routes.post("/jobs", SUBMIT, answers={201: Submitted}, body=JobOrder, counted=True, keyed=True)
    def submit(body: JobOrder) -> Reply:
        ...
        return created, 201

The function gets the job or schedule of its path, if the caller may see it (`ownership.py`), and validated `query` and
`body`. The types of answers are only documentation: the return value is sent unchanged. The docstring becomes the
operation's text in the OpenAPI document, which is built from these declarations alone (`openapi.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from flask import Blueprint, Response, g, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import UnsupportedMediaType

from shoal.control.auth import authorize
from shoal.control.encoded_slashes import with_slashes
from shoal.control.idempotency import once
from shoal.control.nearest_field import did_you_mean
from shoal.control.ownership import find_confirmed, find_job, find_schedule
from shoal.control.problems import RETRY_S, FieldFault, Problem, invalid, unreadable
from shoal.control.rate_limits import count_submit
from shoal.control.request_bodies import whole_body
from shoal.control.thread_slots import slot
from shoal.store.fleet.tokens import TokenScope

READ, SUBMIT, ADMIN = TokenScope.READ, TokenScope.SUBMIT, TokenScope.ADMIN
API = "/api/v1"
JSON = "application/json"

Sent = Mapping[str, Any] | BaseModel
Reply = Response | Sent | tuple[Sent, int] | None
"""None: 204."""
View = Callable[..., Reply]
F = TypeVar("F", bound=View)
Answer = type | tuple[str, ...] | None
"""A type of `client/responses/` or a model, or the media types of a body that is not JSON, or None for no body."""


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    """In Flask's syntax, from the root."""
    name: str
    text: str
    scope: TokenScope | None
    """None: no token is needed."""
    answers: Mapping[int, Answer]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    counted: bool = False
    """Whether it counts for the limit of submits per minute."""
    keyed: bool = False
    """Whether it accepts an Idempotency-Key, and stores the response."""
    body_optional: bool = False
    """Whether a call without a body is one with an empty object."""
    confirmed: bool = False
    """Whether a job that is named otherwise than by its full id needs `?confirm=`: a repeated call by name would act on
    the next job."""
    streams: tuple[str, ...] = ()
    """Media types of bodies of any length, which the function reads itself; these have no `body` and no key."""


class Routes:
    def __init__(self, name: str, prefix: str = API) -> None:
        self.blueprint = Blueprint(name, __name__, url_prefix=prefix)
        self.operations: list[Operation] = []
        self._prefix = prefix

    def get(self, path: str, scope: TokenScope | None, **about: Any) -> Callable[[F], F]:
        return self._route("GET", path, scope, about)

    def post(self, path: str, scope: TokenScope | None, **about: Any) -> Callable[[F], F]:
        return self._route("POST", path, scope, about)

    def put(self, path: str, scope: TokenScope | None, **about: Any) -> Callable[[F], F]:
        return self._route("PUT", path, scope, about)

    def patch(self, path: str, scope: TokenScope | None, **about: Any) -> Callable[[F], F]:
        return self._route("PATCH", path, scope, about)

    def delete(self, path: str, scope: TokenScope | None, **about: Any) -> Callable[[F], F]:
        return self._route("DELETE", path, scope, about)

    def _route(self, method: str, path: str, scope: TokenScope | None, about: dict[str, Any]) -> Callable[[F], F]:
        """`about`: the fields of Operation from `answers` on."""

        def register(function: F) -> F:
            name, text = function.__name__, function.__doc__ or ""
            operation = Operation(method, self._prefix + path, name, text, scope, **about)
            self.operations.append(operation)
            self.blueprint.add_url_rule(path, name, _view(operation, function), methods=[method])
            return function

        return register


def _view(operation: Operation, function: View) -> Callable[..., Response]:
    @wraps(function)
    def view(**given: Any) -> Response:
        if operation.scope is not None:
            authorize(operation.scope)
        if operation.counted:
            count_submit()
        if operation.scope is not None:
            given = _found(operation, given)
        query = _query(operation.query)
        if query is not None:
            given["query"] = query
        if request.mimetype in operation.streams:
            return _streamed(function, given)
        if operation.body is None:
            return _answered(operation, function, given)
        if operation.body_optional and not _has_body():
            return _answered(operation, function, {**given, "body": operation.body()})
        _check_media(operation)
        with whole_body() as data:
            given["body"] = _read(operation.body, data)
            return _answered(operation, function, given, data)

    return view


def _found(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """Raises UnknownJob or a Problem, the same for another owner's job as for one that does not exist."""
    given = {name: with_slashes(value) for name, value in given.items()}
    if operation.path.startswith(f"{API}/jobs/<id>"):
        name = given.pop("id")
        job = find_confirmed(name, request.args.get("confirm")) if operation.confirmed else find_job(name)
        g.job_id = job.id
        return {"job": job, **given}
    if operation.path.startswith(f"{API}/schedules/<id>"):
        return {"schedule": find_schedule(given.pop("id")), **given}
    return given


def _answered(operation: Operation, function: View, given: dict[str, Any], body: bytes | bytearray = b"") -> Response:
    if operation.keyed:
        return once(lambda: _response(function(**given)), body)
    return _response(function(**given))


def _streamed(function: View, given: dict[str, Any]) -> Response:
    # Any length: the function limits its memory itself. None would mean the app's limit.
    request.max_content_length = sys.maxsize
    with slot() as had:
        if not had:
            detail = "too many uploads at the moment: try again later"
            raise Problem(503, detail, headers={"Retry-After": str(RETRY_S)})
        return _response(function(**given))


def _query(model: type[BaseModel] | None) -> BaseModel | None:
    names = model.model_fields if model else {}
    unknown = [
        FieldFault(name, f"unknown parameter{did_you_mean(name, names)}") for name in request.args if name not in names
    ]
    twice = [FieldFault(name, "given more than once") for name, values in request.args.lists() if len(values) > 1]
    if unknown or twice:
        raise invalid(unknown + twice)
    return model.model_validate(request.args.to_dict()) if model else None


def _read(model: type[BaseModel], data: bytes | bytearray) -> BaseModel:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise unreadable(error, model) from None


def _has_body() -> bool:
    return bool(request.content_length) or "Transfer-Encoding" in request.headers


def _check_media(operation: Operation) -> None:
    if request.mimetype != JSON:
        raise UnsupportedMediaType(f"send the body as {' or '.join((JSON, *operation.streams))}")


def _response(reply: Reply) -> Response:
    if isinstance(reply, Response):
        return reply
    sent, status = reply if isinstance(reply, tuple) else (reply, 204 if reply is None else 200)
    if sent is None:
        return Response(status=status)
    text = sent.model_dump_json() if isinstance(sent, BaseModel) else json.dumps(sent, ensure_ascii=False)
    return Response(text, status, content_type=JSON)
