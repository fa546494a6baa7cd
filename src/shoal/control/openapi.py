"""Builds the OpenAPI 3.1 document from the routes and their models, and serves it as JSON and as an HTML page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from flask import Response

from shoal import __version__
from shoal.client.responses.fleet import ProblemDetails
from shoal.control.docs_page import ASSETS, POLICY, asset, docs_page
from shoal.control.examples import body_examples, code_samples
from shoal.control.idempotency import HEADER
from shoal.control.problems import MEDIA
from shoal.control.response_schemas import Schema, schemas
from shoal.control.routes import API, JSON, Answer, Operation, Reply, Routes

References = Mapping[type, Schema]
"""By type, the reference to its schema."""
_SEGMENTS = {
    ("pages", "fingerprint"): {"pattern": "^[0-9a-f]{16}$"},
    ("hosts", "host"): {"pattern": r"^[^/\s]+$"},
}
"""The schema of a path parameter, by the segment before it and its name; the others are names of any kind."""
_NAMES = {
    ("jobs", "id"): "The id of a job, the beginning of its id, its name (if several have it, the newest), or `last`.",
    ("schedules", "id"): "The id or name of a schedule.",
    ("tokens", "id"): "The id or name of a token.",
    ("pages", "fingerprint"): "The `fingerprint` of a page.",
    ("hosts", "host"): "A host name, with the port if it is unusual.",
}
_KEY = "A repeated request with the same key takes effect once, and gets the first answer again, for a day."
_TAGS = {
    "jobs": "Submit crawls, watch them, and control them.",
    "data": "What a job has stored: pages, items, dead letters, files.",
    "scrape": "One page, now.",
    "schedules": "Jobs that start at set times.",
    "hosts": "How each host is treated, over all jobs.",
    "exclusions": "URLs that no job may request.",
    "proxies": "Pools of proxies, and how each proxy works.",
    "fleet": "The processes of the fleet, and a summary.",
    "tokens": "Who may use the API.",
    "service": "Health, metrics and this documentation; no token is needed.",
}
"""The groups of calls."""
_DATA = ("pages", "items", "dead", "explain", "explanation", "export", "archive", "diff")
_REASONS = {
    400: "the body is not valid JSON, or incomplete",
    401: "the token is missing or unknown",
    403: "the token's scope does not allow this",
    404: "not found",
    408: "the body arrived too slowly",
    409: "conflict with the current state",
    413: "the body is too large",
    415: "unsupported media type of the body",
    422: "a field or parameter is invalid; `errors` names it",
    429: "rate limit reached; Retry-After says when to try again",
    500: "a bug in Shoal",
    503: "Redis or the database is unavailable, or too many requests; Retry-After says when to try again",
}


def serving(parts: Sequence[Routes]) -> Routes:
    """Routes for `/openapi.json` and `/docs`; `/` redirects to `/docs`. They need no token."""
    routes = Routes("openapi", prefix="")
    operations = [operation for part in parts for operation in part.operations]

    # Cached: anybody may ask for them, and each takes 50 ms to build.
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
        """This OpenAPI document."""
        return Response(text(), content_type=JSON)

    @routes.get("/docs", None, answers={200: ("text/html",)})
    def docs() -> Reply:
        """The API documentation for people."""
        return Response(page(), content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY})

    for name in ASSETS:
        routes.blueprint.add_url_rule(f"/docs/{name}", name.replace(".", "_"), partial(_asset, name))
    return routes


def _asset(name: str) -> Response:
    return Response(asset(name), content_type=f"{ASSETS[name]}; charset=utf-8")


def document(operations: Sequence[Operation]) -> Schema:
    references, shapes = _schemas(operations)
    paths: dict[str, dict[str, Schema]] = {}
    for operation in operations:
        paths.setdefault(_path(operation), {})[operation.method.lower()] = _operation(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shoal", "version": __version__, "description": "Submit, watch and control crawls."},
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": shapes,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, references: References) -> Schema:
    summary, _, description = operation.text.strip().partition("\n")
    described: Schema = {
        "operationId": operation.name,
        "summary": summary,
        "tags": [_tag(operation.path)],
        "parameters": list(_parameters(operation)),
        "responses": {str(status): _answer(answer, references) for status, answer in operation.answers.items()},
    }
    if description.strip():
        described["description"] = " ".join(description.split())
    described["security"] = [{"token": []}] if operation.scope else []
    if operation.scope:
        described["x-scope"] = operation.scope.value
    described["x-codeSamples"] = code_samples(operation)
    if operation.body or operation.streams:
        described["requestBody"] = {
            "required": not operation.body_optional,
            "content": _content_in(operation, references),
        }
    for status in _failures(operation):
        described["responses"].setdefault(str(status), _problem(status, references))
    return described


def _tag(path: str) -> str:
    noun, *rest = path.removeprefix(API).strip("/").split("/")
    if not path.startswith(API):
        return "service"
    if noun in ("workers", "stats", "series"):
        return "fleet"
    return "data" if noun == "jobs" and rest[1:] and rest[1] in _DATA else noun


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


def _content_in(operation: Operation, references: References) -> Schema:
    content: Schema = {media: {"schema": {"type": "string"}} for media in operation.streams}
    if operation.body:
        content[JSON] = {"schema": references[operation.body], "examples": body_examples(operation)}
    return content


def _answer(answer: Answer, references: References) -> Schema:
    if answer is None:
        return {"description": "done"}
    if isinstance(answer, tuple):
        return {"description": "the data", "content": {media: {} for media in answer}}
    return {"description": (answer.__doc__ or "").strip(), "content": {JSON: {"schema": references[answer]}}}


def _problem(status: int, references: References) -> Schema:
    return {"description": _REASONS[status], "content": {MEDIA: {"schema": references[ProblemDetails]}}}


def _parameters(operation: Operation) -> Iterator[Schema]:
    for before, name in re.findall(r"(\w+)/<(?:\w+:)?(\w+)>", operation.path):
        schema: Schema = {"type": "string", "minLength": 1, **_SEGMENTS.get((before, name), {})}
        text = _NAMES.get((before, name))
        about = {"description": text} if text else {}
        yield {"name": name, "in": "path", "required": True, "schema": schema, **about}
    if operation.query:
        shape = _without_references(operation.query.model_json_schema())
        for name, schema in shape["properties"].items():
            about = {"description": schema["description"]} if "description" in schema else {}
            required = name in shape.get("required", ())
            yield {"name": name, "in": "query", "required": required, "schema": _as_text(schema), **about}
    if operation.keyed:
        schema = {"type": "string", "pattern": "^[!-~]{1,200}$"}
        yield {"name": HEADER, "in": "header", "required": False, "schema": schema, "description": _KEY}


def _without_references(shape: Schema) -> Schema:
    """Replaces each reference by its target: a parameter cannot have `$defs`."""
    kinds = shape.get("$defs", {})

    def placed(part: Any) -> Any:
        if isinstance(part, list):
            return [placed(one) for one in part]
        if not isinstance(part, dict):
            return part
        target = kinds[part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
        return {name: placed(value) for name, value in {**target, **part}.items() if name not in ("$ref", "$defs")}

    resolved: Schema = placed(shape)
    return resolved


def _as_text(schema: Schema) -> Schema:
    """The schema of a parameter without null: a missing parameter means null here."""
    kept = {name: value for name, value in schema.items() if name not in ("title", "description", "anyOf")}
    if kept.get("default", 0) is None:
        del kept["default"]
    for one in schema.get("anyOf", ()):
        kept |= one if one != {"type": "null"} else {}
    return kept


def _schemas(operations: Sequence[Operation]) -> tuple[References, Schema]:
    bodies = {operation.body for operation in operations if operation.body}
    answers: set[type] = {ProblemDetails}
    for operation in operations:
        answers.update(answer for answer in operation.answers.values() if isinstance(answer, type))
    return schemas(bodies, answers)


def _path(operation: Operation) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", operation.path)
