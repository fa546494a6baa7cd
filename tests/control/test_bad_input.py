"""Whatever is sent, the answer says what is wrong with it, as problem+json and with the right status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.control.bodies import JSON_BYTES
from tests.control.calling import Api, problem

URL = "https://example.com/"
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"urls": [URL], "colour": "red"}, "colour"),
        ({"urls": [URL], "limits": {"page": 1}}, "limits.page"),
        ({"urls": [URL], "limits": {"pages": "5"}}, "limits.pages"),
        ({"urls": [URL], "limits": {"pages": 0}}, "limits.pages"),
        ({"urls": [URL, 5]}, "urls[1]"),
        ({"urls": URL}, "urls"),
        ({"urls": [URL], "lane": "fast"}, "lane"),
        ({"urls": [URL], "sitemaps": 1}, "sitemaps"),
        ({"urls": [URL], "headers": {"X": "a\r\nY: b"}}, "headers.X"),
        ({"urls": [URL], "politeness": {"rate": -1}}, "politeness.rate"),
        ([], "body"),
    ],
)
def test_a_wrong_field_is_named(api: Api, body: Any, field: str) -> None:
    told = problem(api("POST", "/jobs", body), 422)
    assert [fault["field"] for fault in told["errors"]] == [field]


@pytest.mark.parametrize(
    "options",
    [
        {"include": ["re:("]},
        {"allow_traps": ["nonsense"]},
        {"formats": ["nonsense"]},
        {"proxies": ["not a proxy"]},
        {"rules": {"name": "x"}},
        {"rules": {"name": "x", "start": [URL]}, "spider": "a.b:c"},
    ],
)
def test_what_only_the_crawl_can_judge_is_refused_too(api: Api, options: dict[str, Any]) -> None:
    problem(api("POST", "/jobs", {"urls": [URL], **options}), 422)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"urls": ["\xff\xfe"]}',
        b"[" * 1_000_000,
        b'{"a":' * 15_000,
        b"\x00",
    ],
    ids=["empty", "cut", "nonsense", "utf8", "deep list", "deep object", "nul"],
)
def test_what_is_no_json_is_told(api: Api, data: bytes) -> None:
    problem(api("POST", "/jobs", data=data, headers=JSON), 400)


@pytest.mark.parametrize(("depth", "status"), [(15_000, 400), (100_000, 413)])
def test_rules_nested_thousands_deep_are_refused(api: Api, depth: int, status: int) -> None:
    deep = b'{"rules":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    problem(api("POST", "/jobs", data=deep, headers=JSON), status)


def test_text_that_no_database_takes_does_no_harm(api: Api) -> None:
    answered = api(
        "POST", "/jobs", data=b'{"urls": ["https://example.com/"], "name": "a\\u0000b\\ud800"}', headers=JSON
    )
    assert answered.status_code in (201, 400, 422)
    assert api("POST", "/jobs", {"urls": ["https://exa\0mple.com/"]}).status_code == 422


@pytest.mark.parametrize(
    "path", ["/jobs/%00", "/jobs/%ff", "/jobs/none", "/jobs/..%2f..", "/jobs/none/pages", "/nothing"]
)
def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    problem(api("GET", path), 404)


def test_a_method_that_a_path_has_not_says_which_it_has(api: Api) -> None:
    answered = api("PUT", "/jobs")
    problem(answered, 405)
    assert {"GET", "POST"} <= set(answered.headers["Allow"].split(", "))


def test_another_media_type_is_refused(api: Api) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", ""):
        problem(api("POST", "/jobs", data=b"{}", headers={"Content-Type": media}), 415)


def test_a_body_beyond_the_limit_is_refused_unread(api: Api) -> None:
    length = {"CONTENT_LENGTH": str(JSON_BYTES + 1)}
    problem(api("POST", "/jobs", data=b"{}", headers=JSON, environ_overrides=length), 413)


@pytest.mark.parametrize("asked", ["limit=0", "limit=x", "limit=1&limit=2", "status=abc", "status=99999", "colour=red"])
def test_a_wrong_parameter_is_named(api: Api, asked: str) -> None:
    told = problem(api("GET", f"/jobs/{api.submit(URL)}/pages?{asked}"), 422)
    assert told["errors"][0]["field"] == asked.partition("=")[0]


def test_a_field_that_there_is_not_is_told_in_words(api: Api) -> None:
    told = problem(api("POST", "/jobs", {"urls": [URL], "limits": {"page": 1}}), 422)
    assert told["detail"] == "limits.page: there is no such field"


def test_every_answer_carries_the_callers_request_id_or_a_new_one(api: Api) -> None:
    for path in ("/jobs", "/jobs/none", "/nothing"):
        assert api("GET", path, headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    ids = {api("GET", "/jobs", headers={"X-Request-Id": bad}).headers["X-Request-Id"] for bad in ("a b", "x" * 200)}
    assert len(ids) == 2 and all(len(name) == 32 for name in ids)
    assert json.loads(api("GET", "/nothing", headers={"X-Request-Id": "n"}).text)["request_id"] == "n"
