"""The OpenAPI 3.1 document, made of the routes and their models, and the page that shows it without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from flask import Response, redirect
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shoal import __version__
from shoal.control.docs_page import docs_page
from shoal.control.idempotency import HEADER
from shoal.control.models.problems import ProblemDetails
from shoal.control.problems import MEDIA
from shoal.control.routes import JSON, Answer, Operation, Reply, Routes

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
_SEGMENTS = {
    ("jobs", "id"): {"pattern": "^[0-9a-z]+$"},
    ("pages", "fingerprint"): {"pattern": "^[0-9a-f]{16}$"},
    ("hosts", "host"): {"pattern": r"^[^/\s]+$"},
}
"""What a segment of a path looks like, by the one before it and its name; tokens and schedules have any name."""
_REASONS = {
    400: "the body is no JSON, or was cut off",
    401: "no token, or one that is not known",
    403: "the token's scope does not allow it",
    404: "there is no such thing",
    408: "the body came too slowly",
    409: "it does not go with how things stand",
    413: "the body is too large",
    415: "the body is of another media type",
    422: "a field or parameter that cannot be used; `errors` names it",
    429: "too much for now; Retry-After says how long",
    500: "a bug",
    503: "Redis or the database is away, or too much is asked at once; Retry-After says when to try again",
}


def serving(parts: Sequence[Routes]) -> Routes:
    """`/openapi.json`, and `/docs`, to which `/` leads: for whoever has no token yet too."""
    routes = Routes("openapi", prefix="")
    operations = [operation for part in parts for operation in part.operations]

    # Anybody may ask for them, and each takes 50 ms to make.
    @cache
    def made() -> Schema:
        return document([*operations, *routes.operations])

    @cache
    def text() -> str:
        return json.dumps(made(), ensure_ascii=False)

    @cache
    def page() -> str:
        return docs_page(made())

    @routes.get("/openapi.json", None, answers={200: (JSON,)})
    def openapi() -> Reply:
        """This document."""
        return Response(text(), content_type=JSON)

    @routes.get("/docs", None, answers={200: ("text/html",)})
    def docs() -> Reply:
        """The same for people."""
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return Response(page(), content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": policy})

    # No call of the API, but where people begin; relative, for whoever serves it below a path of a site.
    routes.blueprint.add_url_rule("/", "root", lambda: redirect("docs"))
    return routes


def document(operations: Sequence[Operation]) -> Schema:
    paths: dict[str, dict[str, Schema]] = {}
    for operation in operations:
        paths.setdefault(_path(operation), {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shoal", "version": __version__, "description": "Submit, watch and steer crawls."},
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> Schema:
    summary, _, description = operation.text.strip().partition("\n")
    described: Schema = {
        "operationId": operation.name,
        "summary": summary,
        "tags": [operation.path.removeprefix("/api/v1").strip("/").partition("/")[0]],
        "parameters": list(_parameters(operation)),
        "responses": {str(status): _answer(status, answer) for status, answer in operation.answers.items()},
    }
    if description.strip():
        described["description"] = " ".join(description.split())
    described["security"] = [{"token": []}] if operation.scope else []
    if operation.scope:
        described["x-scope"] = operation.scope.value
    if operation.body or operation.streams:
        described["requestBody"] = {"required": True, "content": _content_in(operation)}
    for status in _failures(operation):
        described["responses"].setdefault(str(status), _problem(status))
    return described


def _failures(operation: Operation) -> Iterator[int]:
    yield 422
    if operation.scope:
        yield from (401, 403, 503)
    if "<" in operation.path:
        yield 404
    if operation.body or operation.streams:
        yield from (400, 408, 413, 415)
    if operation.method != "GET":
        yield 409
    if operation.counted or operation.streams:
        yield 429
    yield 500


def _content_in(operation: Operation) -> Schema:
    content: Schema = {media: {"schema": {"type": "string"}} for media in operation.streams}
    if operation.body:
        content[JSON] = {"schema": _ref(operation.body)}
    return content


def _answer(status: int, answer: Answer) -> Schema:
    if answer is None:
        return {"description": "done"}
    if isinstance(answer, tuple):
        return {"description": "the data", "content": {media: {} for media in answer}}
    return {"description": (answer.__doc__ or "").strip(), "content": {JSON: {"schema": _ref(answer)}}}


def _problem(status: int) -> Schema:
    return {"description": _REASONS[status], "content": {MEDIA: {"schema": _ref(ProblemDetails)}}}


def _parameters(operation: Operation) -> Iterator[Schema]:
    for before, name in re.findall(r"(\w+)/<(?:\w+:)?(\w+)>", operation.path):
        schema: Schema = {"type": "string", "minLength": 1, **_SEGMENTS.get((before, name), {})}
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    if operation.query:
        shape = _without_references(operation.query.model_json_schema())
        for name, schema in shape["properties"].items():
            about = {"description": schema["description"]} if "description" in schema else {}
            required = name in shape.get("required", ())
            yield {"name": name, "in": "query", "required": required, "schema": _as_text(schema), **about}
    if operation.keyed:
        schema = {"type": "string", "pattern": "^[!-~]{1,200}$"}
        yield {"name": HEADER, "in": "header", "required": False, "schema": schema}


def _without_references(shape: Schema) -> Schema:
    """With what it refers to in its place: a parameter has no `$defs` of its own."""
    kinds = shape.get("$defs", {})

    def placed(part: Any) -> Any:
        if isinstance(part, list):
            return [placed(one) for one in part]
        if not isinstance(part, dict):
            return part
        referred = kinds[part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
        return {name: placed(value) for name, value in {**referred, **part}.items() if name not in ("$ref", "$defs")}

    resolved: Schema = placed(shape)
    return resolved


def _as_text(schema: Schema) -> Schema:
    """Of a parameter: what is null for us is one that is left out."""
    told = {name: value for name, value in schema.items() if name not in ("title", "description", "anyOf")}
    if told.get("default", 0) is None:
        del told["default"]
    for one in schema.get("anyOf", ()):
        told |= one if one != {"type": "null"} else {}
    return told


def _schemas(operations: Sequence[Operation]) -> Schema:
    inward = {operation.body for operation in operations if operation.body}
    outward: set[type[BaseModel]] = {ProblemDetails}
    for operation in operations:
        outward.update(answer for answer in operation.answers.values() if isinstance(answer, type))
    models: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in inward]
    models += [(model, "serialization") for model in outward]
    _, shapes = models_json_schema(sorted(models, key=lambda pair: pair[0].__name__), ref_template=_REF)
    found: Schema = shapes["$defs"]
    return found


def _ref(model: type[BaseModel]) -> Schema:
    return {"$ref": _REF.format(model=model.__name__)}


def _path(operation: Operation) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", operation.path)
