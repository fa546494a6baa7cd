"""No value of a path, a parameter, a header or a body is a bug: NUL, lone surrogates, bytes that are no UTF-8, numbers
of any size, on either database."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import BaseModel, ValidationError
from werkzeug.test import TestResponse

from shoal.client.responses.fleet import ProblemDetails
from shoal.control.response_schemas import adapter
from shoal.control.routes import Operation
from shoal.model import fingerprint_hex
from tests.control.calling import Api, forget_submits
from tests.control.whole_api import OPERATIONS, api_with_job
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.store.postgres_server import PostgresServer, fresh_database

URL = "https://example.com/"
JOB = {"urls": [URL]}
BODIES: dict[str, Any] = {
    "submit": {**JOB, "limits": {}, "politeness": {}, "webhook": {"url": URL}},
    "append_urls": [URL],
    "scrape": {"url": URL, "timeout_s": 0.01},
    "set_exclusions": {"lines": []},
    "set_proxy_pool": {"text": "http://proxy.example:3128"},
    "make_token": {"name": "x", "scope": "read"},
    "change_token": {"scope": "read"},
    "add_schedule": {"name": "x", "cron": "30 4 * * *", "job": JOB},
    "change_running": {"limits": {}, "politeness": {}},
}
"""What is enough for each call; the others take an empty object."""


NUMBERS = ("-1", "9" * 25, "1e999", "1e-320", "nan", "\u00b2")
TEXTS = ("%00", "%ff%fe", "%ed%a0%80", "%0d%0a", "%2e%2e%2f", "a" * 3_000)
PLACES = (
    '["LISTING","\\ud800"]',
    '["LISTING","\\u0000"]',
    '["LISTING",1.5,"\\udfff"]',
    f'["LISTING",1.5,{"9" * 400}]',
    '["LISTING",1e400,1]',
    '["LISTING",NaN,1,1]',
    '["\\ud800"]',
    "[]",
)
"""Of cursors."""
VALUES = (
    *('"\\ud800"', '"a\\u0000b"', '""', '"\\ud83d\\udc1f\\n"', "-1", "1e999", "1e-320", "NaN", "9" * 25),
    *('["\\u0000"]', '[""]', '{"\\u0000":"a"}', '{"a":"\\u0000"}'),
)
"""As JSON, since not all of them are values of Python's."""
LINES = (
    *(value.encode() for value in VALUES),
    *(b'{"url":%s}' % value.encode() for value in VALUES),
    *(
        b"\xff\xfe",
        b"\x00",
        b"https://example.com/\xff",
        b"https://\xed\xa0\x80/",
        b"https://[/",
        b"https://a:99999999999/",
    ),
)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    if request.param == "sqlite":
        with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
            yield shell
    else:
        with PostgresServer() as server:
            for url in fresh_database(server, "odd"):
                with fleet_shell(tmp_path_factory.mktemp("fleet"), url) as shell:
                    yield shell


@pytest.fixture(scope="module")
def whole(fleet: FleetShell) -> Iterator[tuple[Api, str]]:
    with api_with_job(fleet) as whole:
        yield whole


@pytest.fixture(scope="module")
def api(whole: tuple[Api, str]) -> Api:
    return whole[0]


@pytest.fixture(scope="module")
def job(whole: tuple[Api, str]) -> str:
    return whole[1]


def ask(api: Api, fleet: FleetShell, operation: Operation, path: str, **named: Any) -> TestResponse:
    answered = api(operation.method, path.removeprefix("/api/v1"), **named)
    if answered.headers.get("RateLimit-Remaining") == "0":
        forget_submits(fleet.redis)
    return answered


def check(answered: TestResponse, sent: object) -> None:
    assert answered.status_code != 500, (sent, answered.text)
    if answered.status_code >= 400:
        adapter(ProblemDetails).validate_python(answered.get_json())
    assert "Location" not in answered.headers, sent


def filled(operation: Operation, job: str, **given: str) -> str:
    known = {"id": job, "fingerprint": fingerprint_hex(1), "host": "example.com", "pool": "fast", **given}
    return "".join(f"{before}{known.get(name, '')}" for before, name in _parts(operation.path))


def _parts(path: str) -> Iterator[tuple[str, str]]:
    while path:
        before, _, rest = path.partition("<")
        name, _, path = rest.partition(">")
        yield before, name


def body_of(operation: Operation) -> Any:
    return BODIES.get(operation.name, {}) if operation.body else None


def called(operations: list[Operation]) -> list[Any]:
    return [pytest.param(operation, id=operation.name) for operation in operations]


@pytest.mark.parametrize("operation", called([one for one in OPERATIONS if "<" in one.path]))
def test_in_a_path(api: Api, fleet: FleetShell, job: str, operation: Operation) -> None:
    for _, name in _parts(operation.path):
        for value in (*TEXTS, *NUMBERS) if name else ():
            path = filled(operation, job, **{name: value if "%" in value else quote(value)})
            check(ask(api, fleet, operation, path, body=body_of(operation)), path)


@pytest.mark.parametrize("operation", called([one for one in OPERATIONS if one.query and one.name != "purge"]))
def test_in_a_parameter(api: Api, fleet: FleetShell, job: str, operation: Operation) -> None:
    assert operation.query is not None
    for name in operation.query.model_fields:
        cursors = cursors_of(operation.name, job) if name == "cursor" else ()
        for value in (*TEXTS, *map(quote, NUMBERS), *cursors, "", "&a=b"):
            path = f"{filled(operation, job)}?{name}={value}"
            check(ask(api, fleet, operation, path, body=body_of(operation)), path)


def cursors_of(listing: str, job: str) -> list[str]:
    named = listing if listing in ("jobs", "hosts") else f"{listing} {job}"
    return [urlsafe_b64encode(place.replace("LISTING", named).encode()).decode().rstrip("=") for place in PLACES]


WSGI = {"Host": "HTTP_HOST", "Content-Length": "CONTENT_LENGTH"}
HEADERS = ("\x00", "\xff", "\xed\xa0\x80", "", "-1", "9" * 400, "Bearer \xff", "Bearer \x00", "::", "[", "a/b")


@pytest.mark.parametrize("header", ["Authorization", "Idempotency-Key", "X-Request-Id", "Host", "Content-Length"])
def test_in_a_header(api: Api, fleet: FleetShell, header: str) -> None:
    for operation in (one for one in OPERATIONS if one.name in ("submit", "jobs")):
        for value in HEADERS:
            named: dict[str, Any] = {"headers": {header: value}}
            if header in ("Host", "Content-Length"):
                # Flask's client writes those itself.
                named = {"environ_overrides": {WSGI[header]: value}}
            check(ask(api, fleet, operation, operation.path, body=body_of(operation), **named), (header, value))


@pytest.mark.parametrize("operation", called([one for one in OPERATIONS if one.body]))
def test_in_a_body(api: Api, fleet: FleetShell, operation: Operation) -> None:
    assert operation.body is not None
    path = filled(operation, api.submit(URL))
    # What its model refuses does not reach a database.
    every = fleet.database_url is None
    for body in odd_bodies(operation, every):
        check(ask(api, fleet, operation, path, data=body.encode(), headers={"Content-Type": "application/json"}), body)


PLACE = "a value to be put here"


def odd_bodies(operation: Operation, every: bool) -> Iterator[str]:
    """Every one, or only those that the model takes."""
    assert operation.body is not None
    body = body_of(operation)
    yield from VALUES
    if isinstance(body, list):
        yield from (f"[{value}]" for value in VALUES)
        return
    schema = operation.body.model_json_schema()
    for given in _placed(body, schema, schema):
        text = json.dumps(given)
        # A job of a schedule is of the same model as one that is submitted.
        is_known = not every or given.get("job", JOB) != JOB
        for odd in (text.replace(json.dumps(PLACE), value) for value in VALUES):
            if not is_known or _takes(operation.body, odd):
                yield odd


def _takes(model: type[BaseModel], body: str) -> bool:
    try:
        model.model_validate_json(body)
    except ValidationError:
        return False
    return True


def _placed(body: dict[str, Any], schema: dict[str, Any], whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The body once for each field, with PLACE in it."""
    for name, field in schema["properties"].items():
        yield {**body, name: PLACE}
        reference = field.get("$ref") or next((one["$ref"] for one in field.get("anyOf", ()) if "$ref" in one), None)
        if reference:
            inner = whole["$defs"][reference.rpartition("/")[2]]
            for part in _placed(body.get(name, {}), inner, whole) if "properties" in inner else ():
                yield {**body, name: part}


@pytest.mark.parametrize("media", ["text/plain", "application/x-ndjson", "text/csv"])
def test_in_lines(api: Api, fleet: FleetShell, media: str) -> None:
    operation = next(one for one in OPERATIONS if one.name == "append_urls")
    path = filled(operation, api.submit(URL))
    odd = [("", data) for data in [*LINES, b"\n".join(LINES)]]
    if media == "text/csv":
        odd = [("?column=url", b"url\n" + data) for _, data in odd]
        odd += [(f"?column={quote(number)}", data) for number in NUMBERS for _, data in odd[-2:]]
    for column, data in odd:
        check(ask(api, fleet, operation, path + column, data=data, headers={"Content-Type": media}), data)
