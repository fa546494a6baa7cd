"""One connection to the API: what is sent over it, tried again, read back, and raised."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit
from uuid import uuid4

from shoal.errors import ApiError, Unavailable, UsageError

API = "/api/v1"
IDLE_S = 5.0
"""A connection that was idle for longer may be closed already, and a call on it would be sent in vain."""
RETRY_S = (0.5, 5.0)
_BLOCK = 1 << 16
_BUSY = (429, 503)
_CONFLICT = 409
_KEY = "Idempotency-Key"
_JSON = {"Content-Type": "application/json"}


class Transport:
    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0, patience_s: float = 60.0) -> None:
        """`timeout_s` is for a server that is silent; `patience_s` for how long a call is tried again."""
        parts = _address(url)
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
        sent = None if body is None else json.dumps(body).encode()
        headers = {**(_JSON if sent is not None else {}), _KEY: key or uuid4().hex}
        return self._told(self._answer("POST", path, sent, headers))

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
                asked_s = _asked_s(answer, wait_s, keyed=_KEY in headers)
                if asked_s is None or time.monotonic() + asked_s > until:
                    return answer
                self._read(answer)
                wait_s = asked_s
            except Unavailable:
                if time.monotonic() + wait_s > until:
                    raise
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_S[1])

    def _send(
        self, method: str, path: str, body: bytes | Iterable[bytes] | None = None, headers: Mapping[str, str] = {}
    ) -> HTTPResponse:
        """A body that is not bytes is streamed; what fails in giving it is its owner's, and raised as it is."""
        if time.monotonic() - self._used_at > IDLE_S:
            self._connection.close()
        sent = body if body is None or isinstance(body, bytes) else _pieces(body)
        given = {"Authorization": f"Bearer {self._token}", **headers}
        answer = None
        try:
            answer = self._exchange(method, self._root + path, sent, given)
        except _NotGiven as failed:
            raise failed.fault from None
        except (OSError, HTTPException) as error:
            raise self._away(error) from error
        finally:
            if answer is None:
                # Nothing else can be sent after a request of which only a part was.
                self._connection.close()
        return answer

    def _exchange(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None, headers: Mapping[str, str]
    ) -> HTTPResponse:
        streams = body is not None and not isinstance(body, bytes)
        try:
            self._connection.request(method, path, body, headers, encode_chunked=streams)
        except (BrokenPipeError, ConnectionResetError) as error:
            return self._early_answer(error)
        answer = self._connection.getresponse()
        self._used_at = time.monotonic()
        return answer

    def _early_answer(self, error: OSError) -> HTTPResponse:
        """Whoever refuses a body need not read it, and closes the connection once the answer is sent."""
        self._used_at = -IDLE_S
        try:
            return self._connection.getresponse()
        except (OSError, HTTPException):
            raise error from None

    def _read(self, answer: HTTPResponse, most: int | None = None) -> bytes:
        try:
            some = answer.read(most)
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise self._away(error) from error
        if not some and answer.length:
            # Read in pieces, an answer that is cut short ends as a whole one does.
            self._connection.close()
            raise self._away(f"its answer broke off, {answer.length:,} bytes before its end")
        return some

    def _told(self, answer: HTTPResponse) -> Any:
        if answer.status >= 400:
            raise self._error(answer)
        text = self._read(answer)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise Unavailable(f"what answers at {self.url} is no API of Shoal: its answer is no JSON") from error

    def _error(self, answer: HTTPResponse) -> ApiError:
        text = self._read(answer)
        try:
            problem = json.loads(text)
        except ValueError:
            # Not from the API: from a proxy before it, perhaps.
            problem = {"detail": f"the answer of {self.url} was {answer.status} {answer.reason}"}
        return ApiError(answer.status, problem)

    def _away(self, why: Exception | str) -> Unavailable:
        return Unavailable(f"the API at {self.url} does not answer: {why or type(why).__name__}")


class _NotGiven(Exception):
    """A body whose owner failed in giving it, not we in sending it."""

    def __init__(self, fault: OSError) -> None:
        super().__init__(str(fault))
        self.fault = fault


def _pieces(given: Iterable[bytes]) -> Iterator[bytes]:
    # A file gives itself by lines, which are too short to be sent one by one.
    read = getattr(given, "read", None)
    try:
        yield from given if read is None else iter(partial(read, _BLOCK), b"")
    except OSError as error:
        raise _NotGiven(error) from error


def _address(url: str) -> SplitResult:
    """Raises UsageError, in which no password is shown."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = re.sub(r"[^/]*@", "***@", url)
        raise UsageError(f"{shown!r} is no URL of an API: give it as http://HOST:PORT")
    if "@" in parts.netloc:
        raise UsageError(f"a URL of an API has no user or password: give it as {parts.scheme}://HOST:PORT, and a token")
    return parts


def _asked_s(answer: HTTPResponse, else_s: float, *, keyed: bool) -> float | None:
    """How long to wait before the same is asked again; None: the answer is final."""
    said = answer.headers.get("Retry-After")
    if answer.status in _BUSY:
        return else_s if said is None else _seconds(said, else_s)
    # Whoever sent it first with this key is not answered yet.
    return _seconds(said, else_s) if keyed and answer.status == _CONFLICT and said is not None else None


def _seconds(said: str, else_s: float) -> float:
    """Retry-After is a number of seconds or a date."""
    if said.strip().isdecimal():
        return max(float(said), RETRY_S[0])
    try:
        return max(parsedate_to_datetime(said).timestamp() - time.time(), RETRY_S[0])
    except ValueError:
        return else_s


def quoted(name: str) -> str:
    return quote(name, safe="")


def query_of(given: Mapping[str, Any]) -> str:
    asked = {name: _text(value) for name, value in given.items() if value is not None}
    return f"?{urlencode(asked)}" if asked else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
