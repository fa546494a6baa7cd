"""One HTTP connection to the API: sends requests, retries them, decodes responses and raises errors."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit
from uuid import uuid4

from shoal.errors import ApiError, NoAnswer, Unavailable, UsageError
from shoal.wording import plural

API = "/api/v1"
IDLE_S = 5.0
"""After this idle time the server may have closed the connection, so a new one is opened."""
RETRY_S = (0.5, 5.0)
_BLOCK = 1 << 16
_BUSY = (429, 503)
_CONFLICT = 409
_KEY = "Idempotency-Key"
_JSON = {"Content-Type": "application/json"}


class Transport:
    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 60.0,
        read_timeout_s: float | None = None,
        patience_s: float = 60.0,
        on_silence: Callable[[], None] | None = None,
        silent_after_s: float = 3.0,
    ) -> None:
        """`timeout_s`: how long to wait for a silent server; `read_timeout_s`: the same for calls that read and whose
        answer is not a file, if it is to be shorter; `patience_s`: how long to retry a call; `on_silence`: what to
        call, in another thread, when a call has no answer after `silent_after_s`."""
        parts = _address(url)
        self.url = url.rstrip("/")
        self._root = parts.path.rstrip("/").removesuffix(API) + API
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=timeout_s)
        self._timeout_s = timeout_s
        self._read_timeout_s = self._read_limit_s = read_timeout_s or timeout_s
        """The second grows with each answer that does not come in time: an API may be slow, and not away."""
        self._token = token
        self._patience_s = patience_s
        self._on_silence = on_silence
        self._silent_after_s = silent_after_s
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
        return dict(self._decoded(self._answer("GET", path + query_of(query), reads=True)))

    def _post(self, path: str, body: Any, key: str | None = None) -> Any:
        """Sends with an Idempotency-Key, so that it takes effect once, however often it is sent."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {**(_JSON if sent is not None else {}), _KEY: key or uuid4().hex}
        return self._decoded(self._answer("POST", path, sent, headers))

    def _change(self, method: str, path: str, body: Any = None) -> Any:
        """Sends without retries: after a failure the caller must check whether it took effect."""
        sent = None if body is None else json.dumps(body).encode()
        return self._decoded(self._send(method, path, sent, _JSON if sent is not None else {}))

    def _parts(self, path: str, name: str, where: Mapping[str, Any], limit: int = 1000) -> Iterator[Any]:
        """A complete listing, read in parts of `limit`."""
        cursor = None
        while True:
            part = self._get(path, {**where, "limit": limit, "cursor": cursor})
            yield from part[name]
            cursor = part["next"]
            if cursor is None:
                return

    def _blocks(self, path: str, query: Mapping[str, Any] = {}) -> Generator[bytes, None, None]:
        """A response of any length, as it arrives."""
        answer = self._answer("GET", path + query_of(query))
        if answer.status != 200:
            raise self._error(answer)
        try:
            while block := self._read(answer, _BLOCK):
                yield block
        finally:
            if not answer.isclosed():
                # The unread rest would be in the way of the next call.
                self._connection.close()

    def _answer(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = {},
        reads: bool = False,
    ) -> HTTPResponse:
        """Like `_send`, but retries while the server is busy or away, for at most `patience_s`."""
        until, wait_s = time.monotonic() + self._patience_s, RETRY_S[0]
        while True:
            try:
                answer = self._send(method, path, body, headers, reads)
                delay_s = _retry_s(answer, wait_s, keyed=_KEY in headers)
                if delay_s is None or time.monotonic() + delay_s > until:
                    return answer
                self._read(answer)
                wait_s = delay_s
            except Unavailable:
                if time.monotonic() + wait_s > until:
                    raise
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_S[1])

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] = {},
        reads: bool = False,
    ) -> HTTPResponse:
        """Streams a body that is not bytes; an exception from reading that body is raised unchanged."""
        if time.monotonic() - self._used_at > IDLE_S:
            self._connection.close()
        self._limit(self._read_limit_s if reads else self._timeout_s)
        sent = body if body is None or isinstance(body, bytes) else _pieces(body)
        given = {"Authorization": f"Bearer {self._token}", **headers}
        answer, began = None, time.monotonic()
        try:
            answer = self._exchange(method, self._root + path, sent, given)
            if time.monotonic() - began < self._read_timeout_s:
                self._read_limit_s = self._read_timeout_s
        except _NotGiven as failed:
            raise failed.fault from None
        except (OSError, HTTPException) as error:
            if reads and isinstance(error, TimeoutError):
                self._read_limit_s = min(2 * self._read_limit_s, self._timeout_s)
            raise self._away(error) from error
        finally:
            if answer is None:
                # Nothing else can be sent after an incomplete request.
                self._connection.close()
        return answer

    def _limit(self, timeout_s: float) -> None:
        """How long the connection waits, for each part of what comes."""
        self._connection.timeout = timeout_s
        if self._connection.sock is not None:
            self._connection.sock.settimeout(timeout_s)

    def _exchange(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None, headers: Mapping[str, str]
    ) -> HTTPResponse:
        streams = body is not None and not isinstance(body, bytes)
        try:
            # A streamed body may take as long as it takes.
            with nullcontext() if streams else self._noticing_silence():
                self._connection.request(method, path, body, headers, encode_chunked=streams)
        except (BrokenPipeError, ConnectionResetError) as error:
            return self._early_answer(error)
        with self._noticing_silence():
            answer = self._connection.getresponse()
        self._used_at = time.monotonic()
        return answer

    @contextmanager
    def _noticing_silence(self) -> Iterator[None]:
        if self._on_silence is None:
            yield
            return
        timer = threading.Timer(self._silent_after_s, self._on_silence)
        # The command can end while it waits.
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _early_answer(self, error: OSError) -> HTTPResponse:
        """A server that refuses a body may answer without reading it, and close the connection."""
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
            # When read in pieces, a truncated response ends like a complete one.
            self._connection.close()
            raise self._away(f"its answer ended {plural(answer.length, 'byte')} too early")
        return some

    def _decoded(self, answer: HTTPResponse) -> Any:
        if answer.status >= 400:
            raise self._error(answer)
        text = self._read(answer)
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise Unavailable(f"the server at {self.url} is not a Shoal API: its answer is not JSON") from error

    def _error(self, answer: HTTPResponse) -> ApiError:
        text = self._read(answer)
        try:
            problem = json.loads(text)
        except ValueError:
            # Not from the API, perhaps from a proxy in front of it.
            problem = {"detail": f"{self.url} answered {answer.status} {answer.reason}"}
        return ApiError(answer.status, problem)

    def _away(self, why: Exception | str) -> NoAnswer:
        return NoAnswer(f"the API at {self.url} does not answer: {why or type(why).__name__}")


class _NotGiven(Exception):
    """Reading the body failed, not sending it."""

    def __init__(self, fault: OSError) -> None:
        super().__init__(str(fault))
        self.fault = fault


def _pieces(given: Iterable[bytes]) -> Iterator[bytes]:
    # A file iterates by lines, which are too short to send one by one.
    read = getattr(given, "read", None)
    try:
        yield from given if read is None else iter(partial(read, _BLOCK), b"")
    except OSError as error:
        raise _NotGiven(error) from error


def _address(url: str) -> SplitResult:
    """Raises UsageError, whose message shows no password."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = re.sub(r"[^/]*@", "***@", url)
        raise UsageError(f"{shown!r} is not the URL of an API: give it as http://HOST:PORT")
    if "@" in parts.netloc:
        raise UsageError(
            f"the URL of an API must not have a user or password: give it as {parts.scheme}://HOST:PORT, and a token"
        )
    return parts


def _retry_s(answer: HTTPResponse, else_s: float, *, keyed: bool) -> float | None:
    """How long to wait before the next try; None: the answer is final."""
    retry_after = answer.headers.get("Retry-After")
    if answer.status in _BUSY:
        return else_s if retry_after is None else _seconds(retry_after, else_s)
    # The first request with this key is still being processed.
    return _seconds(retry_after, else_s) if keyed and answer.status == _CONFLICT and retry_after is not None else None


def _seconds(retry_after: str, else_s: float) -> float:
    """Retry-After is a number of seconds or a date."""
    if retry_after.strip().isdecimal():
        return max(float(retry_after), RETRY_S[0])
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), RETRY_S[0])
    except ValueError:
        return else_s


def quoted(name: str) -> str:
    return quote(name, safe="")


def query_of(given: Mapping[str, Any]) -> str:
    query = {name: _text(value) for name, value in given.items() if value is not None}
    return f"?{urlencode(query)}" if query else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
