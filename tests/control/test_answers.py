"""Every call really answers what `shoal/client/responses/` describes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, get_args

import pytest

from shoal.client.responses import choices
from shoal.control.response_schemas import adapter
from shoal.control.routes import Operation
from shoal.model import JobState, Lane
from shoal.store.fleet.schedules import Overlap, RunState
from shoal.store.fleet.tokens import TokenScope
from tests.control.calling import Api, forget_submits
from tests.control.test_odd_values import BODIES, URL, filled
from tests.control.whole_api import OPERATIONS, api_with_job
from tests.fleet.by_hand import FleetShell, fleet_shell

QUERIES = {"explain": {"url": URL}, "explanation": {"url": URL}, "dead": {"group": "reason,host"}}
DESCRIBED = [
    operation for operation in OPERATIONS if any(isinstance(answer, type) for answer in operation.answers.values())
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
        yield shell


@pytest.fixture(scope="module")
def whole(fleet: FleetShell) -> Iterator[tuple[Api, str]]:
    with api_with_job(fleet) as whole:
        api = whole[0]
        schedule: Any = {**BODIES["add_schedule"], "name": "nightly"}
        assert api("POST", "/schedules", schedule).status_code == 201
        assert api("PUT", "/proxies/fast", BODIES["set_proxy_pool"]).status_code == 200
        assert fleet.lease(), "a host becomes known by a lease"
        yield whole


def answered(api: Api, job: str, operation: Operation, query: dict[str, str]) -> tuple[int, str]:
    """The job may be changed by everything but a read, so each of those gets a new one."""
    id = {"tokens": "read", "schedules": "nightly"}.get(operation.path.split("/")[3] if operation.scope else "", "")
    id = id or (job if operation.method == "GET" else api.submit(URL))
    if operation.name == "resume":
        api("POST", f"/jobs/{id}/pause")
    body = BODIES.get(operation.name, {}) if operation.body else None
    path = filled(operation, id)
    headers = {"Authorization": f"Bearer {api.tokens[TokenScope.ADMIN]}"}
    sent = {} if body is None else {"json": body}
    response = api.client.open(path, method=operation.method, headers=headers, query_string=query, **sent)
    return response.status_code, response.text


@pytest.mark.parametrize("operation", DESCRIBED, ids=lambda operation: operation.name)
def test_the_answer_is_as_described(operation: Operation, whole: tuple[Api, str], fleet: FleetShell) -> None:
    queries = [QUERIES[operation.name]] if operation.name in QUERIES else [{}]
    for query in [*queries, *([{}] if operation.name == "dead" else [])]:
        forget_submits(fleet.redis)
        status, text = answered(*whole, operation, query)
        described = operation.answers.get(status)
        assert isinstance(described, type), (status, text)
        adapter(described).validate_json(text, strict=True)


def test_a_preview_is_as_described(whole: tuple[Api, str], fleet: FleetShell) -> None:
    forget_submits(fleet.redis)
    (change,) = [operation for operation in OPERATIONS if operation.name == "change_running"]
    status, text = answered(*whole, change, {"preview": "true"})
    described = change.answers[200]
    assert status == 200 and isinstance(described, type)
    assert adapter(described).validate_json(text, strict=True)["would_drop"] == 0


@pytest.mark.parametrize("of", [JobState, Lane, TokenScope, Overlap, RunState])
def test_choices_are_those_of_the_enumeration(of: type[StrEnum]) -> None:
    assert get_args(getattr(choices, of.__name__)) == tuple(of)


def test_the_client_does_not_load_pydantic() -> None:
    code = "import sys, shoal.client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "shoal.client.responses.jobs" in loaded and {"pydantic", "flask", "sqlalchemy"}.isdisjoint(loaded)
