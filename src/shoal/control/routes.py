"""How an endpoint is written: a function with its path, its scope and the models of what goes in and out.

    routes = Routes("jobs")

    @routes.get("/jobs/<id>", READ, answers={200: JobFigures})
    def job(job: Job) -> Reply:
        \"\"\"One job's figures.\"\"\"
        return figures_of(job)

    @routes.post("/jobs", SUBMIT, answers={201: Created}, body=JobOrder, counted=True, keyed=True)
    def submit(body: JobOrder) -> Reply:
        ...
        return created, 201

The job or schedule that a path names arrives found, if the caller may see it (`ownership.py`); `query` and `body`
arrive checked. The models of answers only describe: what is returned is sent as it is. The
docstring is the operation's text in the OpenAPI document, which is made of nothing else (`openapi.py`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from flask import Blueprint, Response, request
from pydantic import BaseModel
from werkzeug.exceptions import UnsupportedMediaType

from shoal.control.auth import authorize
from shoal.control.bodies import whole_body
from shoal.control.idempotency import once
from shoal.control.limits import count_submit
from shoal.control.ownership import find, find_named, find_schedule
from shoal.control.problems import RETRY_S, FieldFault, Problem, invalid
from shoal.control.slots import slot
from shoal.store.tokens import Scope

READ, SUBMIT, ADMIN = Scope.READ, Scope.SUBMIT, Scope.ADMIN
API = "/api/v1"
JSON = "application/json"

Sent = Mapping[str, Any] | BaseModel
Reply = Response | Sent | tuple[Sent, int] | None
"""None: 204."""
View = Callable[..., Reply]
F = TypeVar("F", bound=View)
Answer = type[BaseModel] | tuple[str, ...] | None
"""A model, or the media types of what is no JSON, or None for no body."""


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    """As Flask has it, from the root."""
    name: str
    text: str
    scope: Scope | None
    """None: anybody may."""
    answers: Mapping[int, Answer]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    counted: bool = False
    """Whether it is one of the submits that a token has so many of in a minute."""
    keyed: bool = False
    """Whether an Idempotency-Key is honoured; the answer is kept then."""
    by_name: bool = False
    """Whether the job may be given by the beginning of its id, or as `last`."""
    streams: tuple[str, ...] = ()
    """Media types of bodies of any length, which the function reads itself; then there is no `body`, and no key."""


class Routes:
    def __init__(self, name: str, prefix: str = API) -> None:
        self.blueprint = Blueprint(name, __name__, url_prefix=prefix)
        self.operations: list[Operation] = []
        self._prefix = prefix

    def get(self, path: str, scope: Scope | None, **about: Any) -> Callable[[F], F]:
        return self._route("GET", path, scope, about)

    def post(self, path: str, scope: Scope | None, **about: Any) -> Callable[[F], F]:
        return self._route("POST", path, scope, about)

    def put(self, path: str, scope: Scope | None, **about: Any) -> Callable[[F], F]:
        return self._route("PUT", path, scope, about)

    def patch(self, path: str, scope: Scope | None, **about: Any) -> Callable[[F], F]:
        return self._route("PATCH", path, scope, about)

    def delete(self, path: str, scope: Scope | None, **about: Any) -> Callable[[F], F]:
        return self._route("DELETE", path, scope, about)

    def _route(self, method: str, path: str, scope: Scope | None, about: dict[str, Any]) -> Callable[[F], F]:
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
        _check_media(operation)
        with whole_body() as data:
            given["body"] = operation.body.model_validate_json(data)
            return _answered(operation, function, given, data)

    return view


def _found(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """Raises UnknownJob or a Problem, of what is another's as of what there is not."""
    if operation.path.startswith(f"{API}/jobs/<id>"):
        id = given.pop("id")
        return {"job": find_named(id) if operation.by_name else find(id), **given}
    if operation.path.startswith(f"{API}/schedules/<id>"):
        return {"schedule": find_schedule(given.pop("id")), **given}
    return given


def _answered(operation: Operation, function: View, given: dict[str, Any], body: bytes | bytearray = b"") -> Response:
    if operation.keyed:
        return once(lambda: _response(function(**given)), body)
    return _response(function(**given))


def _streamed(function: View, given: dict[str, Any]) -> Response:
    # Of any length: the function bounds what it holds. None would mean the limit of the app.
    request.max_content_length = sys.maxsize
    with slot() as had:
        if not had:
            detail = "as many streams are being read as may be: try again"
            raise Problem(503, detail, headers={"Retry-After": str(RETRY_S)})
        return _response(function(**given))


def _query(model: type[BaseModel] | None) -> BaseModel | None:
    names = model.model_fields if model else {}
    unknown = [FieldFault(name, "there is no such parameter") for name in request.args if name not in names]
    twice = [FieldFault(name, "it is given twice") for name, values in request.args.lists() if len(values) > 1]
    if unknown or twice:
        raise invalid(unknown + twice)
    return model.model_validate(request.args.to_dict()) if model else None


def _check_media(operation: Operation) -> None:
    if request.mimetype != JSON:
        raise UnsupportedMediaType(f"give the body as {' or '.join((JSON, *operation.streams))}")


def _response(reply: Reply) -> Response:
    if isinstance(reply, Response):
        return reply
    sent, status = reply if isinstance(reply, tuple) else (reply, 204 if reply is None else 200)
    if sent is None:
        return Response(status=status)
    text = sent.model_dump_json() if isinstance(sent, BaseModel) else json.dumps(sent, ensure_ascii=False)
    return Response(text, status, content_type=JSON)
