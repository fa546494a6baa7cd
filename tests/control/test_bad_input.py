"""Whatever is sent, the answer says what is wrong with it, as problem+json and with the right status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.control.request_bodies import JSON_BYTES
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
def test_values_that_only_the_crawl_can_validate_are_refused_too(api: Api, options: dict[str, Any]) -> None:
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
def test_invalid_json_is_reported(api: Api, data: bytes) -> None:
    problem(api("POST", "/jobs", data=data, headers=JSON), 400)


@pytest.mark.parametrize(("depth", "status"), [(15_000, 400), (100_000, 413)])
def test_rules_nested_thousands_deep_are_refused(api: Api, depth: int, status: int) -> None:
    deep = b'{"rules":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    problem(api("POST", "/jobs", data=deep, headers=JSON), status)


def test_text_that_a_database_cannot_store_does_no_harm(api: Api) -> None:
    answered = api(
        "POST", "/jobs", data=b'{"urls": ["https://example.com/"], "name": "a\\u0000b\\ud800"}', headers=JSON
    )
    assert answered.status_code in (201, 400, 422)
    assert api("POST", "/jobs", {"urls": ["https://exa\0mple.com/"]}).status_code == 422


@pytest.mark.parametrize(
    "path", ["/jobs/%00", "/jobs/%ff", "/jobs/none", "/jobs/..%2f..", "/jobs/none/pages", "/nothing"]
)
def test_unknown_paths_are_not_found(api: Api, path: str) -> None:
    problem(api("GET", path), 404)


def test_an_unsupported_method_lists_the_allowed_ones(api: Api) -> None:
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


def test_an_unknown_field_is_named(api: Api) -> None:
    told = problem(api("POST", "/jobs", {"urls": [URL], "colour": 1}), 422)
    assert told["detail"] == "colour: unknown field"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"max_page": 1}, "max_page: unknown field; did you mean max_pages?"),
        ({"limits": {"page": 1}}, "limits.page: unknown field; did you mean limits.pages?"),
        ({"robots": False}, "robots: unknown field; did you mean ignore_robots?"),
        ({"Rate": 1}, "Rate: unknown field; did you mean rate?"),
        ({"x" * 100_000: 1}, f"{'x' * 60}…: unknown field"),
    ],
)
def test_an_unknown_field_is_answered_with_the_nearest_known_one(api: Api, body: Any, detail: str) -> None:
    assert problem(api("POST", "/jobs", {"urls": [URL], **body}), 422)["detail"] == detail


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (
            "/jobs",
            {"urls": [URL], "spider": "nope"},
            "spider: not in the expected form. package.module:name, of a module",
        ),
        ("/jobs", {"urls": [URL], "webhook": "foo"}, "webhook.url: not in the expected form. "),
        (
            "/schedules",
            {"name": "x", "cron": "@dayly", "job": {"urls": [URL]}},
            "cron: not in the expected form. Minute, hour, day of the month, month, weekday: `30 4 * * mon`; or",
        ),
        ("/jobs", {"urls": ["http//x", "a,b"]}, "none of the urls can be fetched: 'http//x' "),
        ("/jobs", {"urls": [URL], "arguments": {"a": 1}}, "the argument a is for a spider, and the job has none"),
        ("/jobs", {"urls": [URL], "name": "last"}, "a job cannot have the name last: "),
        ("/schedules", {"name": "last", "cron": "@daily", "job": {"urls": [URL]}}, "a job cannot have the name last: "),
    ],
)
def test_a_value_that_does_not_fit_is_answered_in_words(api: Api, path: str, body: Any, detail: str) -> None:
    assert problem(api("POST", path, body), 422)["detail"].startswith(detail)


def test_an_unknown_field_of_a_schedules_job_is_answered_with_its_place(api: Api) -> None:
    order = {"name": "x", "cron": "1 1 * * *", "spyder": "a:b", "job": {"urls": [URL], "max_depht": 1}}
    detail = problem(api("POST", "/schedules", order), 422)["detail"]
    assert "job.max_depht: unknown field; did you mean job.max_depth?" in detail
    assert "spyder: unknown field; did you mean job.spider?" in detail


def test_an_unknown_parameter_is_answered_with_the_nearest_known_one(api: Api) -> None:
    told = problem(api("GET", f"/jobs/{api.submit(URL)}/pages?statsu=200"), 422)
    assert told["detail"] == "statsu: unknown parameter; did you mean status?"


def test_every_answer_has_the_callers_request_id_or_a_new_one(api: Api) -> None:
    for path in ("/jobs", "/jobs/none", "/nothing"):
        assert api("GET", path, headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    ids = {api("GET", "/jobs", headers={"X-Request-Id": bad}).headers["X-Request-Id"] for bad in ("a b", "x" * 200)}
    assert len(ids) == 2 and all(len(name) == 32 for name in ids)
    assert json.loads(api("GET", "/nothing", headers={"X-Request-Id": "n"}).text)["request_id"] == "n"
