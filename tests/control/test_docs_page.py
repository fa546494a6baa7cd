"""The docs page: every call with examples that are true, links that lead somewhere, and nothing from another server."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from shoal.client import Client
from shoal.control.docs_page.calls_html import json_text
from shoal.control.docs_page.inline_html import type_html
from shoal.control.examples import EXAMPLES, code_samples, curl
from shoal.control.routes import Operation
from tests.control.calling import Api, forget_submits
from tests.control.whole_api import OPERATIONS, api_with_job
from tests.fleet.by_hand import FleetShell, fleet_shell

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
WITH_TOKEN = [operation for operation in OPERATIONS if operation.scope]
BODIES = [
    pytest.param(operation, body, id=f"{operation.name}: {about}")
    for operation in WITH_TOKEN
    for about, body in EXAMPLES[operation.name].bodies.items()
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
        yield shell


@pytest.fixture(scope="module")
def api(fleet: FleetShell) -> Iterator[Api]:
    """With what the examples speak of: a job, a host, a schedule, a token and a pool of proxies."""
    with api_with_job(fleet) as (api, _):
        assert fleet.lease()
        assert api("POST", "/schedules", EXAMPLES["add_schedule"].bodies["every night"]).status_code == 201
        assert api("POST", "/tokens", {"name": "ann", "scope": "submit"}).status_code == 201
        assert api("PUT", "/proxies/europe", {"text": "http://proxy.example:3128"}).status_code == 200
        yield api


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        self.ids += [id] if (id := given.get("id")) else []
        self.links += [link] if (link := given.get("href") or given.get("src")) else []


def test_the_page_has_every_call_and_every_link_leads_somewhere(api: Api) -> None:
    page = Page(api.client.get("/docs").text)
    assert {operation.name for operation in OPERATIONS} < set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids, link
        else:
            assert api.client.get(f"/{link}").status_code == 200, link
    assert {"problem-404", "problem-422", "schema-JobOrder"} < set(page.ids)


def test_the_policy_allows_nothing_inline_and_no_other_server(api: Api) -> None:
    answered = api.client.get("/docs")
    policy = answered.headers["Content-Security-Policy"]
    assert "unsafe" not in policy and "http" not in policy and policy.startswith("default-src 'none'")
    page = Page(answered.text)
    for tag, given in page.tags:
        assert tag != "style" and "style" not in given and not any(name.startswith("on") for name in given), (
            tag,
            given,
        )
        assert tag != "script" or given.get("src")
    assert not [link for link in page.links if link.startswith(("http", "/"))], "relative, and ours"


def test_style_and_script_are_served_as_such(api: Api) -> None:
    for name, media in (("docs.css", "text/css"), ("docs.js", "text/javascript")):
        answered = api.client.get(f"/docs/{name}")
        assert answered.content_type == f"{media}; charset=utf-8" and len(answered.text) > 1000
        assert answered.headers["X-Content-Type-Options"] == "nosniff"


def test_the_script_finds_what_it_looks_for(api: Api) -> None:
    """A browser runs a part of it in test_docs.py."""
    script, page = api.client.get("/docs/docs.js").text, Page(api.client.get("/docs").text)
    ids = set(re.findall(r'getElementById\("(\w+)"\)', script))
    classes = set(re.findall(r'querySelector(?:All)?\("[^"]*\.(\w+)"\)', script))
    assert ids == {"token", "search"} and ids < set(page.ids)
    assert {"group", "tools", "nothing", "call", "try"} <= classes
    assert classes <= {name for _, given in page.tags for name in (given.get("class") or "").split()}
    assert {given.get("data-call") for _, given in page.tags if given.get("class") == "try"} >= {
        operation.name for operation in OPERATIONS
    }


@pytest.mark.parametrize("operation", WITH_TOKEN, ids=lambda operation: operation.name)
def test_the_python_example_is_a_call_of_the_client(operation: Operation) -> None:
    (call,) = [
        node
        for node in ast.walk(ast.parse(EXAMPLES[operation.name].python))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    assert isinstance(call.func, ast.Attribute)
    given = [ast.literal_eval(argument) for argument in call.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    inspect.signature(getattr(Client, call.func.attr)).bind(None, *given, **named)


@pytest.mark.parametrize("operation", [one for one in WITH_TOKEN if one.method == "GET"], ids=lambda one: one.name)
def test_the_curl_example_of_a_read_is_answered(api: Api, operation: Operation) -> None:
    """An example names a page, a diff, an archive and files that the job of the test does not have: 404."""
    path = shlex.split(curl(operation))[-1].removeprefix("$SHOAL_API_URL/api/v1")
    answered = api("GET", path)
    is_missing = operation.name in ("body", "diff", "archive", "files")
    assert answered.status_code == (404 if is_missing else 200), answered.text


@pytest.mark.parametrize(("operation", "body"), BODIES)
def test_an_example_of_a_body_is_accepted(api: Api, fleet: FleetShell, operation: Operation, body: Any) -> None:
    forget_submits(fleet.redis)
    words = shlex.split(curl(operation).replace("\\\n", ""))
    (path,) = [word.removeprefix("$SHOAL_API_URL/api/v1") for word in words if word.startswith("$SHOAL_API_URL")]
    sent = {**body, "timeout_s": 0.01} if operation.name == "scrape" else body
    if operation.name == "make_token":
        api("DELETE", "/tokens/ann")
    if operation.name == "add_schedule":
        api("DELETE", "/schedules/nightly")
    answered = api(operation.method, path, sent)
    assert answered.status_code < 300, answered.text


def test_every_call_with_a_body_has_an_example() -> None:
    assert [operation.name for operation in OPERATIONS if operation.body and not EXAMPLES[operation.name].bodies] == []


def test_the_reference_shows_the_examples_of_bodies() -> None:
    rows = re.findall(r"^\| `([A-Z]+ \S+)` \| ([^|]+) \| `([{\[].*[}\]])` \|$", REFERENCE.read_text(), re.MULTILINE)
    shown = [(call, about, json.loads(text)) for call, about, text in rows]
    assert shown == [
        (f"{operation.method} {operation.path.replace('<', '{').replace('>', '}')}", about, body)
        for operation in WITH_TOKEN
        for about, body in EXAMPLES[operation.name].bodies.items()
    ]


def test_a_call_without_a_token_has_a_curl_example_alone() -> None:
    (livez,) = [operation for operation in OPERATIONS if operation.name == "livez"]
    assert code_samples(livez) == [{"lang": "curl", "source": 'curl "$SHOAL_API_URL/livez"'}]


def test_types_are_shown_in_words() -> None:
    bounded = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10**15}, {"type": "null"}]}
    assert type_html(bounded) == "whole number (at least 1) or null"
    assert type_html({"type": "array", "items": {"$ref": "#/x/Job"}}) == 'list of <a href="#schema-Job">Job</a>'
    assert type_html({"enum": ["a", "<b>"]}) == "<code>a</code>, <code>&lt;b&gt;</code>"


def test_short_json_stays_on_one_line() -> None:
    value = {"urls": ["https://example.com/"] * 4, "name": "x"}
    assert json.loads(json_text(value)) == value and json_text({"a": [1, 2]}) == '{"a": [1, 2]}'
    assert max(map(len, json_text(value).splitlines())) < 60
