"""Declares the calls: who may make one, where its arguments are, and how its answer and its errors look.

scrapyd answers 200 to what it refuses, and names the reason in `message`. Here only what scrapyd does not know has a
status of its own: authentication, scopes, limits, servers that are away.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, request

from shoal.control.auth import authorize
from shoal.control.problems import MEDIA, Problem
from shoal.control.routes import JSON
from shoal.control.scrapyd.arguments import FORM_BYTES, Arguments, received_arguments
from shoal.store.fleet.tokens import TokenScope

READ, SUBMIT, ADMIN = TokenScope.READ, TokenScope.SUBMIT, TokenScope.ADMIN
_REFUSALS = (404, 409, 422)
"""Problems that scrapyd has an answer for."""

PREFIXES = ("/scrapyd", "/scrapyd/", "")
"""Clients such as ScrapydWeb know only a host and a port. scrapyd-deploy needs a slash at the end of its URL, and
scrapyd-client adds another one to the same URL."""

Call = Callable[[Arguments], Mapping[str, Any]]


class Calls:
    def __init__(self, name: str) -> None:
        self.blueprint = Blueprint(name, __name__)
        self.blueprint.after_request(_as_scrapyd)

    def get(self, path: str, scope: TokenScope) -> Callable[[Call], Call]:
        return self._call("GET", path, scope, 0)

    def post(self, path: str, scope: TokenScope, most_bytes: int = FORM_BYTES) -> Callable[[Call], Call]:
        return self._call("POST", path, scope, most_bytes)

    def _call(self, method: str, path: str, scope: TokenScope, most_bytes: int) -> Callable[[Call], Call]:
        def register(function: Call) -> Call:
            @wraps(function)
            def view() -> Response:
                admit(scope)
                with received_arguments(most_bytes) as arguments:
                    return _answer({"status": "ok", **function(arguments)})

            add_rules(self.blueprint, path, function.__name__, view, method)
            return function

        return register


def add_rules(blueprint: Blueprint, path: str, name: str, view: Callable[..., Response], method: str = "GET") -> None:
    for number, prefix in enumerate(PREFIXES):
        blueprint.add_url_rule(prefix + path, f"{name}_{number}", view, methods=[method])


def admit(scope: TokenScope) -> None:
    """Raises a Problem."""
    authorize(scope, basic=True)
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        # A browser adds a stored password to whatever a page of another site sends here.
        raise Problem(403, f"pages of {origin} may not call this API")


def _answer(fields: Mapping[str, Any], status: int = 200) -> Response:
    text = json.dumps({"node_name": socket.gethostname(), **fields}) + "\n"
    return Response(text, status, content_type=JSON)


def _as_scrapyd(response: Response) -> Response:
    """The error of any other call, as scrapyd says it."""
    if response.mimetype != MEDIA:
        return response
    status = 200 if response.status_code in _REFUSALS else response.status_code
    answer = _answer({"status": "error", "message": response.get_json()["detail"]}, status)
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in response.headers:
            answer.headers[name] = response.headers[name]
    return answer
