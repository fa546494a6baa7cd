"""Calls scrapyd's API of a fleet, and checks what every answer of it has."""

from __future__ import annotations

import base64
import io
import time
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from shoal.model import JobState
from shoal.store.fleet.scrapy_projects import (
    save_version,
)
from shoal.store.fleet.tokens import TokenScope
from shoal.store.job_state import set_state
from shoal.store.jobs import find_job
from tests.control.calling import Api
from tests.control.eggs import egg
from tests.fleet.fire_schedules import fire

SUBMIT, READ, ADMIN = TokenScope.SUBMIT, TokenScope.READ, TokenScope.ADMIN


@dataclass
class Scrapyd:
    api: Api
    prefix: str = "/scrapyd"

    @property
    def client(self) -> FlaskClient:
        return self.api.client

    def send(self, method: str, path: str, token: str | None, **named: Any) -> TestResponse:
        basic = base64.b64encode(f"anybody:{token}".encode()).decode()
        headers = {**({} if token is None else {"Authorization": f"Basic {basic}"}), **named.pop("headers", {})}
        return self.client.open(f"{self.prefix}{path}", method=method, headers=headers, **named)

    def get(self, name: str, scope: TokenScope = ADMIN, **query: str) -> dict[str, Any]:
        return self._told(self.send("GET", f"/{name}.json", self.api.tokens[scope], query_string=query))

    def post(self, name: str, scope: TokenScope = ADMIN, **form: Any) -> dict[str, Any]:
        return self._told(self.send("POST", f"/{name}.json", self.api.tokens[scope], data=form))

    def upload(self, project: str, version: str, package: bytes) -> dict[str, Any]:
        return self.post("addversion", project=project, version=version, egg=(io.BytesIO(package), "project.egg"))

    def keep(self, project: str, version: str, *spiders: str) -> None:
        """Of an egg, without asking its code what spiders it has."""
        save_version(self.api.bridge.store, project, version, egg(*spiders), list(spiders), time.time())

    def refused(self, name: str, **form: Any) -> str:
        told = self.post(name, **form)
        assert told.keys() == {"status", "message"} and told["status"] == "error", told
        return str(told["message"])

    def schedule(self, scope: TokenScope = ADMIN, **form: Any) -> str:
        told = self.post("schedule", scope, **{"project": "news", "spider": "daily", **form})
        assert told["status"] == "ok", told
        return str(told["jobid"])

    def plan(self, name: str, scope: TokenScope = SUBMIT, **given: Any) -> TestResponse:
        """A schedule of that name."""
        job = {"scrapy": {"project": "news", "spider": "daily", **given}}
        return self.api("POST", "/schedules", {"name": name, "cron": "@yearly", "job": job}, scope)

    def run_planned(self, name: str) -> dict[str, Any]:
        """The run of a schedule whose job is due now."""
        assert self.api("POST", f"/schedules/{name}/run").status_code == 202
        fire(self.api.bridge.store, self.api.bridge.settings)
        return dict(self.api.get(f"/schedules/{name}")["runs"][0])

    def job(self, jobid: str) -> str:
        """Shoal's id of a job that was just scheduled."""
        job = find_job(self.api.bridge.store, "last")
        assert job.spec.scrapy_run is not None and job.spec.scrapy_run.jobid == jobid
        return job.id

    def set_state(self, job: str, *states: JobState) -> None:
        for state in states:
            set_state(self.api.bridge.store, job, state, time.time())

    @staticmethod
    def _told(answered: TestResponse) -> dict[str, Any]:
        assert answered.status_code == 200, answered.text
        assert answered.content_type == "application/json" and answered.text.endswith("}\n")
        told: dict[str, Any] = answered.get_json()
        assert isinstance(told.pop("node_name"), str)
        return told
