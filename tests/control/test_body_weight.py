"""Bodies that take far more memory than they have bytes, or have far more faults than anybody reads."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from shoal.control.problems import FAULTS_SHOWN, Problem
from shoal.control.request_bodies import FIELDS, HELD_BYTES, NAME, SMALL_BYTES, HeldBytes, whole_body
from tests.control.calling import Api, problem

WIDE_CHARACTER = "😀"


def refused(api: Api, body: bytes | dict[str, Any], status: int) -> dict[str, Any]:
    """What is told of it, which is short."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answered = api("POST", "/jobs", "", data=data, content_type="application/json")
    assert len(answered.data) < 16_000
    return problem(answered, status)


@pytest.mark.parametrize(("text", "weight"), [("a", 3), ("é", 5), (r"\u00e9", 5), ("😀", 8), (r"\ud83d\ude00", 8)])
def test_a_text_is_weighed_by_its_widest_character(api: Api, text: str, weight: int) -> None:
    app, length = api.client.application, 1 << 20
    body = b'{"name": "' + b"a" * length + text.encode() + b'"}'
    held: HeldBytes = app.extensions[NAME]
    room = int(2.5 * weight * length)
    held.change(HELD_BYTES - room)
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(app.test_request_context("/", data=body))
            opened.enter_context(whole_body())
        opened.enter_context(app.test_request_context("/", data=body))
        with pytest.raises(Problem) as refused, whole_body():
            pass
        assert refused.value.status == 503
    held.change(room - 3 * weight * length)
    with app.test_request_context("/", data=body), whole_body() as data:
        assert data == body, "what was held is let go of"


def test_the_first_faults_are_listed_and_the_others_counted(api: Api) -> None:
    told = refused(api, {f"unknown{n}": 1 for n in range(100)}, 422)
    assert len(told["errors"]) == FAULTS_SHOWN and told["more_errors"] == 100 - FAULTS_SHOWN
    assert told["errors"][0] == {"field": "unknown0", "reason": "unknown field"}
    assert told["detail"].endswith("and 97 more")
    few = refused(api, {"unknown": 1}, 422)
    assert "more_errors" not in few and few["detail"] == "unknown: unknown field"


def test_too_many_fields_are_refused_before_parsing(api: Api) -> None:
    fields = b",".join(b'"f%d" : 1' % n for n in range(FIELDS + 1))
    for body in (b"{%b}", b'{"headers": {%b}}', b'{"rules": {%b}}'):
        assert f"{FIELDS:,} fields" in refused(api, body % fields, 413)["detail"]


def test_only_the_first_fault_of_a_list_is_reported(api: Api) -> None:
    for name in ("urls", "include", "proxies", "keep_params"):
        told = refused(api, {name: [1] * 200_000}, 422)
        assert [fault["field"] for fault in told["errors"]] == [f"{name}[0]"]


@pytest.mark.parametrize("length", [3_000, 2 * SMALL_BYTES])
def test_long_names_and_texts_are_shortened_in_errors(api: Api, length: int) -> None:
    long = WIDE_CHARACTER * length
    field = refused(api, {long: 1}, 422)["errors"][0]["field"]
    assert field.startswith(WIDE_CHARACTER) and len(field) < 100
    for body in ({"name": long}, {"spider": long}, {"include": [long]}, {"headers": {long: "x"}}):
        refused(api, body, 422)


def test_faults_of_query_parameters_are_limited_too(api: Api) -> None:
    told = problem(api("GET", "/jobs?" + "&".join(f"p{n}=1" for n in range(200))), 422)
    assert len(told["errors"]) == FAULTS_SHOWN and told["more_errors"] == 200 - FAULTS_SHOWN
