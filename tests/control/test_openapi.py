"""The OpenAPI document is true: whatever it allows is answered as it says, and nothing that it forbids is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import booleans
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from shoal.control.app import ROUTES
from shoal.control.routes import Operation
from shoal.frontier.redis.shard import TAG
from shoal.model import fingerprint_hex
from shoal.store.batch import Batch, save
from shoal.store.tokens import Scope
from tests.control.calling import Api, api_over, problem
from tests.control.test_records import page, with_dead
from tests.fleet.by_hand import FleetShell, fleet_shell

EXAMPLES = 15
CONFIG = Path(__file__).with_name("schemathesis.toml")
"""Names the calls that may refuse what the document allows; `make openapi` runs schemathesis itself with it."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
        yield shell


@pytest.fixture(scope="module")
def api(fleet: FleetShell) -> Iterator[Api]:
    with api_over(fleet.settings) as api:
        yield api


@pytest.fixture(scope="module")
def job(api: Api, fleet: FleetShell) -> str:
    id = with_dead(api)
    save(api.bridge.store, Batch(id, pages=[page(id, n) for n in range(5)]))
    fleet.begin(id)
    fleet.man()
    return id


@pytest.fixture(scope="module")
def document(api: Api) -> Any:
    config = SchemathesisConfig.from_path(CONFIG)
    return schemathesis.openapi.from_wsgi("/openapi.json", api.client.application, config=config)


OPERATIONS = [operation for routes in ROUTES for operation in routes.operations]


CASES = [
    pytest.param(operation, mode, id=f"{operation.name}-{mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    # Of one that takes nothing there is nothing wrong to be sent.
    if mode is GenerationMode.POSITIVE or operation.scope
]


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_answer_is_a_documented_one(
    document: Any, operation: Operation, mode: GenerationMode, api: Api, fleet: FleetShell, job: str
) -> None:
    described = document[operation.path.replace("<", "{").replace(">", "}")][operation.method]
    headers = {"Authorization": f"Bearer {api.tokens[Scope.ADMIN]}"}
    for counter in fleet.redis.client.scan_iter(f"{TAG}:submits:*"):
        fleet.redis.client.delete(counter)

    @given(described.as_strategy(generation_mode=mode), booleans())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: Any, known: bool) -> None:
        if known and operation.name != "remove":
            # In place of one that could be, lest what is to be refused become right.
            for name, kind, value in (("id", "[0-9a-z]+", job), ("fingerprint", "[0-9a-f]{16}", fingerprint_hex(1))):
                if re.fullmatch(kind, str(case.path_parameters.get(name, ""))):
                    case.path_parameters[name] = value
        if operation.name == "scrape" and isinstance(case.body, dict):
            # There is no worker to wait for.
            wait_s = case.body.get("timeout_s", 30)
            if type(wait_s) in (int, float) and 0 < wait_s <= 120:
                case.body["timeout_s"] = 0.1
        case.call_and_validate(headers=headers)

    holds()


def test_the_page_for_people_shows_every_call_and_needs_nothing_from_elsewhere(api: Api) -> None:
    text = api.client.get("/docs").text
    for operation in OPERATIONS:
        assert operation.path.replace("<", "{").replace(">", "}") in text
    assert "http://" not in text.replace("http://HOST", "") and "src=" not in text and "<script" not in text


def test_whoever_opens_the_bare_address_is_led_to_that_page(api: Api) -> None:
    led = api.client.get("/")
    assert (led.status_code, led.headers["Location"]) == (302, "docs")
    assert api.client.get("/", follow_redirects=True).text == api.client.get("/docs").text


def test_of_a_change_no_default_is_told_because_none_is_applied(api: Api) -> None:
    document = api.client.get("/openapi.json").get_json()
    for path, operations in document["paths"].items():
        if "patch" in operations:
            body = operations["patch"]["requestBody"]["content"]["application/json"]["schema"]
            for model in _with_parts(document, body["$ref"]):
                fields = document["components"]["schemas"][model].get("properties", {})
                assert not [name for name, field in fields.items() if "default" in field], (path, model)


def _with_parts(document: Any, reference: str) -> set[str]:
    """The model and those that it is made of, but for a whole job, which is what it says."""
    name = reference.rpartition("/")[2]
    if name == "JobOrder":
        return set()
    inner = re.findall(r"#/components/schemas/\w+", json.dumps(document["components"]["schemas"][name]))
    return {name}.union(*(_with_parts(document, part) for part in inner))


def test_every_reference_leads_somewhere(api: Api) -> None:
    document = api.client.get("/openapi.json").get_json()
    for reference in re.findall(r'"\$ref": ?"([^"]*)"', json.dumps(document)):
        assert reference.startswith("#/components/schemas/"), reference
        assert reference.rpartition("/")[2] in document["components"]["schemas"], reference


def test_the_document_says_what_is_refused(api: Api) -> None:
    """Both by the API, with 422, and by the document."""
    schemas = api.client.get("/openapi.json").get_json()["components"]["schemas"]
    order = schemas["JobOrder"]
    document = {"$ref": "#/components/schemas/JobOrder", "components": {"schemas": schemas}}
    judge = Draft202012Validator(document)
    assert order["anyOf"] and order["not"]
    url = "https://example.com/"
    refused: list[dict[str, Any]] = [
        {},
        {"rules": None},
        {"rules": {}},
        {"rules": {"start": url}, "spider": "a.b:c"},
        {"urls": [url], "spider": "a.b"},
        *({"urls": [url], **wrong} for wrong in ({"include": [""]}, {"exclude": [" "]}, {"formats": ["pdf"]})),
        *({"urls": [url], **wrong} for wrong in ({"allow_traps": ["x"]}, {"proxies": ["ftp://h:1"]}, {"name": ""})),
        *({"urls": [url], "webhook": {"url": wrong}} for wrong in ("", "x", "ftp://x", "http://")),
    ]
    for body in refused:
        assert not judge.is_valid(body), body
        assert api("POST", "/jobs", body).status_code == 422, body
    for body in (
        {"urls": [url], "retries": 3.0, "limits": {"pages": 5.0}},
        {"urls": []},
        {"urls": [url], "rules": None},
    ):
        assert judge.is_valid(body), body
        assert api("POST", "/jobs", body).status_code == 201, body


def test_a_job_without_an_archive_has_none_to_be_found(api: Api) -> None:
    assert "has no archive" in problem(api("GET", f"/jobs/{api.submit('https://example.com/')}/archive"), 404)["detail"]


def test_a_job_that_has_not_begun_has_no_dead_letters_to_be_retried(api: Api) -> None:
    assert api("POST", f"/jobs/{api.submit('https://example.com/')}/dead/retry", {}).get_json() == {"retried": 0}
