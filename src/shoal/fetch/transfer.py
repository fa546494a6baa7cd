"""One easy handle of libcurl, with the call it is set up for and the buffers it fills.

Handles are reused: options that stay the same from one call to the next are not set again.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from operator import attrgetter
from typing import Any

import pycurl

from shoal.errors import UsageError
from shoal.fetch.cookies import Jar
from shoal.fetch.guard import Guard

Options = list[tuple[int, Any]]

_ACCEPT = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, br, zstd, deflate",
}


@dataclass(slots=True)
class Fetch:
    """One request to make, as the engine wants it."""

    url: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    jar: Jar | None = None
    """None: cookies are neither sent nor kept."""
    proxy: str = ""
    credentials: str = ""
    """`user:password` for this origin."""
    etag: str | None = None
    last_modified: str | None = None
    max_bytes: int = 10_000_000
    """Of the body as it comes; decoded it may be four times as large."""
    truncate: bool = False
    """Keep the first `max_bytes` of a larger body instead of failing."""
    deadline_s: float = 45.0
    alone: bool = False
    """Over a connection that served nobody before and serves nobody after."""


_settings = attrgetter(*(name for name in Fetch.__dataclass_fields__ if name != "url"))


class Transfer:
    def __init__(self, guard: Guard, options: Options) -> None:
        self.curl = pycurl.Curl()
        self.body = self.head = BytesIO()
        self.dialled = False
        """A connection was tried, as the guard allowed."""
        self.refused = False
        """The guard refused an address."""
        self.sent = False
        """The request went out, or is about to."""
        self.on_sending: Callable[[], None] = _nothing
        """Called when there is a connection for it."""
        self.guard = guard
        self._options = options
        self._current: tuple[object, ...] = ()
        self._proxied = False

    def prepare(self, call: Fetch) -> None:
        settings = _settings(call)
        if settings != self._current:
            # Forgotten first: a setting that libcurl refuses must not leave the handle half set up.
            self._current = ()
            self._configure(call)
            self._current = settings
        self.body, self.head = BytesIO(), BytesIO()
        self.dialled = self.refused = self.sent = False
        self.on_sending = _nothing
        self.curl.setopt(pycurl.URL, call.url)
        self.curl.setopt(pycurl.WRITEHEADER, self.head)
        if call.truncate:
            self.curl.setopt(pycurl.WRITEFUNCTION, _first_bytes(self.body, call.max_bytes))
        else:
            self.curl.setopt(pycurl.WRITEDATA, self.body)

    def _configure(self, call: Fetch) -> None:
        curl = self.curl
        curl.unsetopt(pycurl.SHARE)
        curl.reset()
        for option, value in self._options:
            curl.setopt(option, value)
        self._proxied = bool(call.proxy)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        curl.setopt(pycurl.PREREQFUNCTION, self._about_to_send)
        curl.setopt(pycurl.PROXY, call.proxy)
        curl.setopt(pycurl.HTTPHEADER, header_lines(call, call.headers))
        curl.setopt(pycurl.TIMEOUT_MS, max(1, int(call.deadline_s * 1000)))
        if not call.truncate:
            curl.setopt(pycurl.MAXFILESIZE_LARGE, call.max_bytes)
        if call.jar is not None:
            curl.setopt(pycurl.SHARE, call.jar.share)
            curl.setopt(pycurl.COOKIEFILE, "")
        if call.credentials:
            curl.setopt(pycurl.USERPWD, call.credentials)
        if call.alone:
            curl.setopt(pycurl.FRESH_CONNECT, 1)
            curl.setopt(pycurl.FORBID_REUSE, 1)
        self._set_method(call)

    def _set_method(self, call: Fetch) -> None:
        if call.method == "HEAD":
            self.curl.setopt(pycurl.NOBODY, 1)
        elif call.body:
            self.curl.setopt(pycurl.POSTFIELDS, call.body)
        if call.method not in ("GET", "HEAD") or call.body:
            self.curl.setopt(pycurl.CUSTOMREQUEST, call.method)

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        family, kind, protocol, where = address
        # A proxy is the operator's own and may well be private; what lies behind it was judged before.
        internet = family in (socket.AF_INET, socket.AF_INET6)
        if not self._proxied and not (internet and self.guard.allows(where[0])):
            self.refused = True
            return int(pycurl.SOCKET_BAD)
        self.dialled = True
        try:
            return _Dropped(family, kind, protocol)
        except OSError:
            return int(pycurl.SOCKET_BAD)

    def _about_to_send(self, *_addresses: object) -> int:
        # When a reused connection closes without an answer, libcurl would send the request again at once, on its
        # own: a second request in the host's slot. Another try is the frontier's to grant.
        if self.sent:
            return int(pycurl.PREREQFUNC_ABORT)
        self.sent = True
        self.on_sending()
        return int(pycurl.PREREQFUNC_OK)


def _nothing() -> None: ...


class _Dropped(socket.socket):
    """pycurl duplicates the descriptor and drops the object, which a plain socket would warn of."""

    def __del__(self) -> None:
        self.close()


def header_lines(call: Fetch, headers: Mapping[str, str]) -> list[bytes]:
    """Our own fields, replaced by those given where both name one."""
    fields = {name.lower(): f"{name}: {value}" for name, value in _ACCEPT.items()}
    if call.body:
        # libcurl would otherwise wait a second for leave to send a large body.
        fields["expect"] = "Expect:"
        fields["content-type"] = f"Content-Type: {call.content_type}"
    if call.etag:
        fields["if-none-match"] = f"If-None-Match: {call.etag}"
    if call.last_modified:
        fields["if-modified-since"] = f"If-Modified-Since: {call.last_modified}"
    fields.update({name.lower(): f"{name}: {value}" for name, value in headers.items()})
    return [_header_line(line) for line in fields.values()]


def _header_line(line: str) -> bytes:
    if "\r" in line or "\n" in line or "\0" in line:
        raise UsageError(f"the header {line!r} holds a line break or NUL: take it out")
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()


def _first_bytes(body: BytesIO, max_bytes: int) -> Any:
    def write(chunk: bytes) -> int:
        return body.write(chunk[: max_bytes - body.tell()])

    return write
