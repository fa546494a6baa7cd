"""One easy handle of libcurl, with the call it is set up for and the buffers it fills.

Handles are reused: options that stay the same from one call to the next are not set again.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from operator import attrgetter
from typing import Any

import pycurl

from shoal.errors import UsageError
from shoal.fetch.clock import Clock
from shoal.fetch.cookies import Jar
from shoal.fetch.exchange import length_despite_coding
from shoal.fetch.guard import Guard
from shoal.fetch.intake import FREE_BYTES, Hold, Intake

Options = list[tuple[int, Any]]

_OWN_LINES = {
    "accept": b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-encoding": b"Accept-Encoding: gzip, br, zstd, deflate",
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
    """Of the body as it comes; decoded it may be four times as large, up to 40 MB or this."""
    truncate: bool = False
    """Keep the first `max_bytes` of a larger body instead of failing."""
    deadline_s: float = 45.0
    alone: bool = False
    """Over a connection that served nobody before and serves nobody after."""


_settings = attrgetter(*(name for name in Fetch.__dataclass_fields__ if name != "url"))


class Transfer:
    def __init__(self, guard: Guard, spoilt: set[int], intake: Intake, options: Options) -> None:
        """`spoilt` are the local ports of connections that must not be used again."""
        self.curl = pycurl.Curl()
        self.clock = Clock(self.curl)
        self.body = self.head = BytesIO()
        self.hold: Hold | None = None
        """Of a big body, until `forget`."""
        self._intake = intake
        self._max_bytes = 0
        self._length: int | None = None
        """Of the body, where libcurl would not see its end."""
        self.dialled = False
        """A connection was tried, as the guard allowed."""
        self.refused = False
        """The guard refused an address."""
        self.sent = False
        """The request went out, or is about to."""
        self.kept_back = False
        """The connection it was to go out over is spoilt."""
        self.resolved: str | None = None
        """The host with its addresses, if libcurl must be told."""
        self.on_sending: Callable[[], None] = _nothing
        """Called when there is a connection for it."""
        self.guard = guard
        self._spoilt = spoilt
        self._options = options
        self._current: tuple[object, ...] = ()
        self._proxied = False
        self._plain = False
        """Over TLS, and in HTTP/2, there are bytes between answers that are no answer."""

    @property
    def received_bytes(self) -> int:
        return self.head.tell() + self.body.tell()

    @property
    def is_all_here(self) -> bool:
        """Although libcurl waits for more."""
        return length_despite_coding(self.head.getvalue()) == self.body.tell()

    def forget(self) -> None:
        """What came, and what it was told of its host."""
        self.body = self.head = BytesIO()
        self.resolved = None
        if self.hold is not None:
            self.hold.release()
            self.hold = None
        if self.clock.forget():
            self._current = ()

    def prepare(self, call: Fetch) -> None:
        settings = _settings(call)
        if settings != self._current:
            # Forgotten first: a setting that libcurl refuses must not leave the handle half set up.
            self._current = ()
            self._configure(call)
            self._current = settings
        self.body, self.head = BytesIO(), BytesIO()
        self.dialled = self.refused = self.sent = self.kept_back = False
        self.on_sending = _nothing
        self._plain = call.url.startswith("http:")
        self.curl.setopt(pycurl.URL, call.url)
        self.curl.setopt(pycurl.WRITEHEADER, self.head)
        if self.resolved:
            self.curl.setopt(pycurl.RESOLVE, [self.resolved])

    def _configure(self, call: Fetch) -> None:
        curl = self.curl
        curl.unsetopt(pycurl.SHARE)
        curl.reset()
        for option, value in self._options:
            curl.setopt(option, value)
        self._proxied = bool(call.proxy)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        curl.setopt(pycurl.PREREQFUNCTION, self._about_to_send)
        curl.setopt(pycurl.WRITEFUNCTION, self._take_first if call.truncate else self._take)
        self._max_bytes = call.max_bytes
        curl.setopt(pycurl.PROXY, call.proxy)
        curl.setopt(pycurl.HTTPHEADER, header_lines(call, call.headers))
        self.clock.set(call.deadline_s)
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

    def _take(self, chunk: bytes) -> int:
        size = self.body.tell() + len(chunk)
        if size > FREE_BYTES and not self._may_hold(size):
            return int(pycurl.WRITEFUNC_PAUSE)
        return self._write(chunk)

    def _take_first(self, chunk: bytes) -> int:
        return self._write(chunk[: self._max_bytes - self.body.tell()])

    def _write(self, chunk: bytes) -> int:
        if not self.body.tell():
            self._length = length_despite_coding(self.head.getvalue())
        if self._length is None:
            return self.body.write(chunk)
        self.body.write(chunk[: self._length - self.body.tell()])
        # Not what it gave, so that libcurl ends the transfer.
        return 0 if self.body.tell() == self._length else len(chunk)

    def _may_hold(self, size: int) -> bool:
        if self.hold is None:
            self.hold = Hold(self._intake, self._go_on)
        takes = self.hold.takes(size)
        if not takes:
            self.clock.stop()
        return takes

    def _go_on(self) -> int:
        """Says how large the body may become."""
        self.clock.go_on()
        # What came meanwhile was asked for, though nobody was waiting for it.
        self._spoilt.discard(int(self.curl.getinfo(pycurl.LOCAL_PORT)))
        length = int(self.curl.getinfo(pycurl.CONTENT_LENGTH_DOWNLOAD_T))
        with suppress(pycurl.error):
            # Of a transfer that has ended meanwhile, which whoever waits for it is being told.
            self.curl.pause(pycurl.PAUSE_CONT)
        return length if 0 < length < self._max_bytes else self._max_bytes

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        family, kind, protocol, where = address
        # What lies behind a proxy was judged before.
        allows = self.guard.allows_proxy if self._proxied else self.guard.allows
        if family not in (socket.AF_INET, socket.AF_INET6) or not allows(where[0]):
            self.refused = True
            return int(pycurl.SOCKET_BAD)
        self.dialled = True
        try:
            return _Dropped(family, kind, protocol)
        except OSError:
            return int(pycurl.SOCKET_BAD)

    def _about_to_send(self, _ip: str, _local_ip: str, _port: int, local_port: int) -> int:
        # When a reused connection closes without an answer, libcurl would send the request again at once, on its
        # own: a second request in the host's slot. Another try is the frontier's to grant.
        if self.dialled:
            self._spoilt.discard(local_port)
        self.kept_back = self._plain and local_port in self._spoilt
        if self.sent or self.kept_back:
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
    lines = dict(_OWN_LINES)
    if call.body:
        # libcurl would otherwise wait a second for leave to send a large body.
        lines["expect"] = b"Expect:"
        lines["content-type"] = _line("Content-Type", call.content_type)
    if call.etag:
        lines["if-none-match"] = _line("If-None-Match", call.etag)
    if call.last_modified:
        lines["if-modified-since"] = _line("If-Modified-Since", call.last_modified)
    for name, value in headers.items():
        lines[name.lower()] = _line(name, value)
    return list(lines.values())


def _line(name: str, value: str) -> bytes:
    line = f"{name}: {value}"
    if "\r" in line or "\n" in line or "\0" in line:
        raise UsageError(f"the header {line!r} holds a line break or NUL: take it out")
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()
