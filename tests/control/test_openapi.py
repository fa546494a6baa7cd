"""The OpenAPI document is true: whatever it allows is answered as it says, and nothing that it forbids is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from shoal.control.app import ROUTES
from shoal.control.routes import Operation
from shoal.frontier.redis.shard import TAG
from shoal.model import fingerprint_hex
from shoal.store.batch import Batch, save
from shoal.store.tokens import Scope
from tests.control.calling import Api, api_over
from tests.control.test_records import page, with_dead
from tests.fleet.by_hand import FleetShell, fleet_shell

EXAMPLES = 15
SEMANTIC = {"422"}
"""What no schema can say, such as a pattern that does not compile, is refused with it too."""


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
    config = SchemathesisConfig.from_dict(
        {
            "checks": {
                "positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409", "422", "429"]}
            }
        }
    )
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
        if known and "id" in case.path_parameters and operation.name != "remove":
            case.path_parameters["id"] = job
            if "fingerprint" in case.path_parameters:
                case.path_parameters["fingerprint"] = fingerprint_hex(1)
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
