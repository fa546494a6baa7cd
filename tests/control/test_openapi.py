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

from shoal.control.routes import Operation
from shoal.model import fingerprint_hex
from shoal.store.fleet.tokens import TokenScope
from tests.control.calling import Api, forget_submits, problem
from tests.control.whole_api import OPERATIONS, api_with_job
from tests.fleet.by_hand import FleetShell, fleet_shell

EXAMPLES = 5
LENGTH = 40
"""Longer ones are not compiled into patterns."""
CONFIG = Path(__file__).with_name("schemathesis.toml")
"""Names the calls that may refuse what the document allows; `make openapi` runs schemathesis itself with it."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
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


@pytest.fixture(scope="module")
def document(api: Api) -> Any:
    raw = json.loads(api.client.get("/openapi.json").data, object_hook=_without_long_lengths)
    loaded = schemathesis.openapi.from_dict(raw, config=SchemathesisConfig.from_path(CONFIG))
    loaded.app, loaded.location = api.client.application, "/openapi.json"
    return loaded


def _without_long_lengths(schema: dict[str, Any]) -> dict[str, Any]:
    """schemathesis compiles a pattern and a length into one expression, which takes seconds if the length is 200,000.
    Its examples are far shorter."""
    return {name: value for name, value in schema.items() if name != "maxLength" or value <= LENGTH}


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
    headers = {"Authorization": f"Bearer {api.tokens[TokenScope.ADMIN]}"}
    forget_submits(fleet.redis)

    @given(described.as_strategy(generation_mode=mode), booleans())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: Any, known: bool) -> None:
        if known and operation.name != "remove":
            # In place of one that could be, lest what is to be refused become right.
            for name, kind, value in (("id", "(?s).+", job), ("fingerprint", "[0-9a-f]{16}", fingerprint_hex(1))):
                if re.fullmatch(kind, str(case.path_parameters.get(name, ""))):
                    case.path_parameters[name] = value
        given_id = str(case.path_parameters.get("id", ""))
        if mode is GenerationMode.POSITIVE and given_id != job and job.startswith(given_id or "-"):
            # Several ids begin with it, which is an error of its own.
            case.path_parameters["id"] = "unknown"
        if operation.name == "scrape" and isinstance(case.body, dict):
            # There is no worker to wait for.
            wait_s = case.body.get("timeout_s", 30)
            if type(wait_s) in (int, float) and 0 < wait_s <= 120:
                case.body["timeout_s"] = 0.1
        case.call_and_validate(headers=headers)

    holds()


def test_patch_models_document_no_defaults(api: Api) -> None:
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


def test_every_reference_has_a_target(api: Api) -> None:
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


def test_the_archive_of_a_job_without_one_is_404(api: Api) -> None:
    assert "has no archive" in problem(api("GET", f"/jobs/{api.submit('https://example.com/')}/archive"), 404)["detail"]


def test_a_job_that_has_not_begun_has_no_dead_letters_to_be_retried(api: Api) -> None:
    path = f"/jobs/{api.submit('https://example.com/')}/dead/retry"
    assert api("POST", path, {}).get_json() == {"retried": 0}


def test_calls_that_need_no_body_take_none(api: Api) -> None:
    """Neither a body nor a Content-Type, as `curl -X POST` sends it."""
    job = api.submit("https://example.com/")
    for verb in ("dead/retry", "pause", "resume", "cancel"):
        answered = api("POST", f"/jobs/{job}/{verb}")
        assert answered.status_code == 200, (verb, answered.text)
    assert problem(api("POST", f"/jobs/{job}/dead/retry", data=b"{}"), 415)["detail"].endswith("application/json")
