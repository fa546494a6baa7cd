"""One connection to the API: what is sent over it, tried again, read back, and raised."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from shoal.errors import ApiError, Unavailable, UsageError

API = "/api/v1"
IDLE_S = 5.0
"""A connection that was idle for longer may be closed already, and a call on it would be sent in vain."""
RETRY_S = (0.5, 5.0)
_BLOCK = 1 << 16
_BUSY = (429, 503)
_JSON = {"Content-Type": "application/json"}


class Transport:
    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0, patience_s: float = 60.0) -> None:
        """`timeout_s` is for a server that is silent; `patience_s` for how long a call is tried again."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(f"{url!r} is no URL of an API: give it as http://HOST:PORT")
        self.url = url.rstrip("/")
        self._root = parts.path.rstrip("/").removesuffix(API) + API
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=timeout_s)
        self._token = token
        self._patience_s = patience_s
        self._used_at = 0.0

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _get(self, path: str, query: Mapping[str, Any] = {}) -> dict[str, Any]:
        return dict(self._told(self._answer("GET", path + query_of(query))))

    def _post(self, path: str, body: Any, key: str | None = None) -> Any:
        """What is made once, however often it has to be sent."""
        headers = {**_JSON, "Idempotency-Key": key or uuid4().hex}
        return self._told(self._answer("POST", path, json.dumps(body).encode(), headers))

    def _change(self, method: str, path: str, body: Any = None) -> Any:
        """What is not tried again: whoever does not know whether it was done must look."""
        sent = None if body is None else json.dumps(body).encode()
        return self._told(self._send(method, path, sent, _JSON if sent is not None else {}))

    def _parts(self, path: str, name: str, where: Mapping[str, Any], limit: int = 1000) -> Iterator[Any]:
        """A whole listing, `limit` at a time."""
        cursor = None
        while True:
            told = self._get(path, {**where, "limit": limit, "cursor": cursor})
            yield from told[name]
            cursor = told["next"]
            if cursor is None:
                return

    def _blocks(self, path: str, query: Mapping[str, Any] = {}) -> Generator[bytes, None, None]:
        """An answer of any length, as it comes."""
        answer = self._answer("GET", path + query_of(query))
        if answer.status != 200:
            raise self._error(answer)
        try:
            while block := self._read(answer, _BLOCK):
                yield block
        finally:
            if not answer.isclosed():
                # Whoever has read enough leaves the rest in the way of the next call.
                self._connection.close()

    def _answer(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> HTTPResponse:
        """As `_send`, but again and again while the server is busy or away, for as long as patience lasts."""
        until, wait_s = time.monotonic() + self._patience_s, RETRY_S[0]
        while True:
            try:
                answer = self._send(method, path, body, headers)
            except Unavailable:
                if time.monotonic() + wait_s > until:
                    raise
            else:
                asked_s = float(answer.headers.get("Retry-After", "0")) if answer.status in _BUSY else 0.0
                if not asked_s or time.monotonic() + asked_s > until:
                    return answer
                answer.read()
                wait_s = asked_s
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_S[1])

    def _send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> HTTPResponse:
        if time.monotonic() - self._used_at > IDLE_S:
            self._connection.close()
        given = {"Authorization": f"Bearer {self._token}", **headers}
        try:
            self._connection.request(method, self._root + path, body, given, encode_chunked=_is_stream(body))
            answer = self._connection.getresponse()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise self._away(error) from error
        self._used_at = time.monotonic()
        return answer

    def _read(self, answer: HTTPResponse, most: int | None = None) -> bytes:
        try:
            return answer.read(most)
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise self._away(error) from error

    def _told(self, answer: HTTPResponse) -> Any:
        if answer.status >= 400:
            raise self._error(answer)
        text = self._read(answer)
        return json.loads(text) if text else None

    def _error(self, answer: HTTPResponse) -> ApiError:
        text = self._read(answer)
        try:
            problem = json.loads(text)
        except ValueError:
            # Not from the API: from a proxy before it, perhaps.
            problem = {"detail": f"the answer of {self.url} was {answer.status} {answer.reason}"}
        return ApiError(answer.status, problem)

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(f"the API at {self.url} does not answer: {error or type(error).__name__}")


def _is_stream(body: Any) -> bool:
    return body is not None and not isinstance(body, bytes)


def quoted(name: str) -> str:
    return quote(name, safe="")


def query_of(given: Mapping[str, Any]) -> str:
    asked = {name: _text(value) for name, value in given.items() if value is not None}
    return f"?{urlencode(asked)}" if asked else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
