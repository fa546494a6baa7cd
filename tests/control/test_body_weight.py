"""Bodies that take far more memory than they have bytes, or have far more faults than anybody reads."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from shoal.control.bodies import FIELDS, HELD_BYTES, NAME, SMALL_BYTES, Held, whole_body
from shoal.control.problems import FAULTS_TOLD, Problem
from tests.control.calling import Api, problem

WIDE_CHARACTER = "😀"


def refused(api: Api, body: bytes | dict[str, Any], status: int) -> dict[str, Any]:
    """What is told of it, which is short."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answered = api("POST", "/jobs", "", data=data, content_type="application/json")
    assert len(answered.data) < 16_000
    return problem(answered, status)


@pytest.mark.parametrize(("text", "weight"), [("a", 3), ("é", 5), (r"\u00e9", 5), ("😀", 8), (r"\ud83d\ude00", 8)])
def test_a_text_weighs_what_its_widest_character_makes_of_it(api: Api, text: str, weight: int) -> None:
    app, length = api.client.application, 1 << 20
    body = b'{"name": "' + b"a" * length + text.encode() + b'"}'
    held: Held = app.extensions[NAME]
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


def test_the_first_faults_are_told_and_the_others_counted(api: Api) -> None:
    told = refused(api, {f"unknown{n}": 1 for n in range(100)}, 422)
    assert len(told["errors"]) == FAULTS_TOLD and told["more_errors"] == 100 - FAULTS_TOLD
    assert told["errors"][0] == {"field": "unknown0", "reason": "there is no such field"}
    assert told["detail"].endswith("and 97 more")
    few = refused(api, {"unknown": 1}, 422)
    assert "more_errors" not in few and few["detail"] == "unknown: there is no such field"


def test_more_fields_than_anybody_has_are_refused_before_they_are_looked_at(api: Api) -> None:
    fields = b",".join(b'"f%d" : 1' % n for n in range(FIELDS + 1))
    for body in (b"{%b}", b'{"headers": {%b}}', b'{"rules": {%b}}'):
        assert f"{FIELDS:,} fields" in refused(api, body % fields, 413)["detail"]


def test_of_a_list_the_first_fault_is_told(api: Api) -> None:
    for name in ("urls", "include", "proxies", "keep_params"):
        told = refused(api, {name: [1] * 200_000}, 422)
        assert [fault["field"] for fault in told["errors"]] == [f"{name}[0]"]


@pytest.mark.parametrize("length", [3_000, 2 * SMALL_BYTES])
def test_no_name_or_text_comes_back_longer_than_a_person_reads(api: Api, length: int) -> None:
    long = WIDE_CHARACTER * length
    field = refused(api, {long: 1}, 422)["errors"][0]["field"]
    assert field.startswith(WIDE_CHARACTER) and len(field) < 100
    for body in ({"name": long}, {"spider": long}, {"include": [long]}, {"headers": {long: "x"}}):
        refused(api, body, 422)


def test_parameters_of_a_query_are_told_likewise(api: Api) -> None:
    told = problem(api("GET", "/jobs?" + "&".join(f"p{n}=1" for n in range(200))), 422)
    assert len(told["errors"]) == FAULTS_TOLD and told["more_errors"] == 200 - FAULTS_TOLD
