"""Calls of the API as another program makes them, with a token of each scope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from shoal.control.app import create_app
from shoal.control.async_bridge import NAME, Bridge
from shoal.control.problems import MEDIA
from shoal.control.thread_slots import slot
from shoal.frontier.redis.shard import TAG
from shoal.settings import Settings
from shoal.store.fleet.tokens import TokenScope, add_token
from tests.frontier.redis_server import RedisServer
from tests.store.new_database import make_home


@dataclass
class Api:
    client: FlaskClient
    bridge: Bridge
    tokens: dict[TokenScope, str]

    def __call__(
        self, method: str, path: str, body: Any = None, scope: TokenScope = TokenScope.ADMIN, **named: Any
    ) -> TestResponse:
        headers = {"Authorization": f"Bearer {self.tokens[scope]}", **named.pop("headers", {})}
        if body is not None and "data" not in named:
            named["data"], headers["Content-Type"] = json.dumps(body), "application/json"
        return self.client.open(f"/api/v1{path}", method=method, headers=headers, **named)

    def get(self, path: str, **named: Any) -> Any:
        answered = self("GET", path, **named)
        assert answered.status_code == 200, answered.text
        return answered.get_json()

    def submit(self, *urls: str, **options: Any) -> str:
        answered = self("POST", "/jobs", {"urls": list(urls), **options})
        assert answered.status_code == 201, answered.text
        return str(answered.get_json()["id"])


@contextmanager
def api_over(settings: Settings) -> Iterator[Api]:
    make_home(settings.home)
    app = create_app(settings)
    bridge: Bridge = app.extensions[NAME]
    try:
        tokens = {scope: add_token(bridge.store, scope, scope) for scope in TokenScope}
        yield Api(app.test_client(), bridge, tokens)
    finally:
        bridge.close()


@contextmanager
def slots_taken(api: Api) -> Iterator[None]:
    """As many wait, stream or drip as may."""
    with ExitStack() as held, api.client.application.app_context():
        while held.enter_context(slot()):
            pass
        yield


def forget_submits(redis: RedisServer) -> None:
    """Every token has its whole share of submits again, whatever was asked for in the same minute."""
    for key in redis.client.scan_iter(f"{TAG}:submits:*"):
        redis.client.delete(key)


def problem(answered: TestResponse, status: int) -> dict[str, Any]:
    assert answered.status_code == status, answered.text
    assert answered.content_type == MEDIA
    told: dict[str, Any] = answered.get_json()
    assert told["status"] == status and told["detail"] and told["request_id"] == answered.headers["X-Request-Id"]
    return told
