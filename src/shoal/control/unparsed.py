"""Requests that are no HTTP, whose head does not come to an end, or that lie outside the path in SCRIPT_NAME: refused
before there is a request that Flask could answer, and as problem+json like everything else."""

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
    """A whole answer, after which the connection ends."""
    title, id = HTTPStatus(status).phrase, uuid4().hex
    told = {"type": f"{TYPES}{status}", "title": title, "status": status, "detail": detail, "request_id": id}
    body = json.dumps(told).encode()
    head = [f"HTTP/1.1 {status} {title}", "Connection: close", f"Content-Type: {MEDIA}", f"Content-Length: {len(body)}"]
    retry = [] if retry_s is None else [f"Retry-After: {retry_s}"]
    return "\r\n".join([*head, *retry, f"X-Request-Id: {id}", "", ""]).encode() + body


class Refusing:
    """A client's socket, by which gunicorn tells what it could not read: its page becomes ours."""

    def __init__(self, client: socket.socket, reason: Exception) -> None:
        self._client, self._reason = client, reason

    def sendall(self, page: bytes) -> None:
        if isinstance(self._reason, ConfigurationProblem):
            # Of a path that does not begin with the environment's SCRIPT_NAME, which the operator has set.
            self._client.sendall(refusal(404, "there is nothing at this path"))
            return
        status = int(page.split(b" ", 2)[1])
        # A fault of ours is not told to strangers.
        detail = "this is no request that can be read" + (f": {self._reason}" if status < 500 else "")
        self._client.sendall(refusal(status, detail[:DETAIL_CHARS]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
