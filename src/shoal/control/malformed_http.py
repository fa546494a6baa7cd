"""Answers requests that never reach Flask: invalid HTTP, an incomplete head, or a path outside SCRIPT_NAME. The answer
is problem+json, as everywhere."""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from gunicorn.http.errors import ConfigurationProblem

from shoal.control.problems import MEDIA, TYPES

DETAIL_CHARS = 300


def refusal(status: int, detail: str, retry_s: int | None = None) -> bytes:
    """A complete HTTP response, after which the connection is closed."""
    title, id = HTTPStatus(status).phrase, uuid4().hex
    problem = {"type": f"{TYPES}{status}", "title": title, "status": status, "detail": detail, "request_id": id}
    body = json.dumps(problem).encode()
    head = [f"HTTP/1.1 {status} {title}", "Connection: close", f"Content-Type: {MEDIA}", f"Content-Length: {len(body)}"]
    retry = [] if retry_s is None else [f"Retry-After: {retry_s}"]
    return "\r\n".join([*head, *retry, f"X-Request-Id: {id}", "", ""]).encode() + body


class Refusing:
    """Wraps a client's socket and replaces gunicorn's error page with problem+json."""

    def __init__(self, client: socket.socket, reason: Exception) -> None:
        self._client, self._reason = client, reason

    def sendall(self, page: bytes) -> None:
        if isinstance(self._reason, ConfigurationProblem):
            # The path does not begin with SCRIPT_NAME, which the operator has set.
            self._client.sendall(refusal(404, "there is nothing at this path"))
            return
        status = int(page.split(b" ", 2)[1])
        # Internal errors are not shown to clients.
        detail = "the request cannot be parsed" + (f": {self._reason}" if status < 500 else "")
        self._client.sendall(refusal(status, detail[:DETAIL_CHARS]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
