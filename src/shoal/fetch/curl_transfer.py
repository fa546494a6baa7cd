"""One easy handle of libcurl, with its current request and the buffers that it fills.

Handles are reused: options that stay the same from one request to the next are not set again.
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
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.body_memory import FREE_BYTES, BodyHold, BodyMemory
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.exchange import length_despite_coding, type_of_success
from shoal.fetch.transfer_timeout import TransferTimer
from shoal.model.rendering import Rendering
from shoal.urls.file_types import FileTypes

Options = list[tuple[int, Any]]

_OWN_LINES = {
    "accept": b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-encoding": b"Accept-Encoding: gzip, br, zstd, deflate",
}


@dataclass(slots=True)
class Fetch:
    """One request to make, as the engine describes it."""

    url: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    jar: CookieJar | None = None
    """None: cookies are neither sent nor stored."""
    cookies: str = ""
    """`a=b; c=d`, sent in addition to those of the jar."""
    proxy: str = ""
    remote_dns: bool = False
    """The proxy looks names up, and nobody here does."""
    credentials: str = ""
    """`user:password` for this origin."""
    etag: str | None = None
    last_modified: str | None = None
    max_bytes: int = 10_000_000
    """Limit for the body as received. Decoded it may be four times as large, up to 40 MB or this limit."""
    truncate: bool = False
    """Keep the first `max_bytes` of a larger body instead of failing."""
    deadline_s: float = 45.0
    types: FileTypes | None = None
    """End the transfer at the head of an answer that is of no such type."""
    alone: bool = False
    """Use a connection that served no request before and will serve none after."""
    rendering: Rendering | None = None
    """How a browser loads the page. None: no browser is needed."""


_settings = attrgetter(*(name for name in Fetch.__dataclass_fields__ if name not in ("url", "rendering")))


class Transfer:
    def __init__(
        self, guard: AddressGuard, unusable_ports: set[int], body_memory: BodyMemory, options: Options
    ) -> None:
        """`unusable_ports` are the local ports of connections that must not be used again."""
        self.curl = pycurl.Curl()
        self.clock = TransferTimer(self.curl)
        self.body = self.head = BytesIO()
        self.hold: BodyHold | None = None
        """The memory of a big body, until `forget`."""
        self._body_memory = body_memory
        self._max_bytes = 0
        self._types: FileTypes | None = None
        self._url = ""
        self.is_unwanted = False
        """The transfer was ended because of the answer's type."""
        self._length: int | None = None
        """Length of the body, if libcurl would not notice its end."""
        self.dialled = False
        """A connection was tried, as the guard allowed."""
        self.refused = False
        """The guard refused an address."""
        self.sent = False
        """The request was sent, or is about to be."""
        self.withheld = False
        """The request was not sent because its connection is unusable."""
        self.network_s: float | None = None
        """How long the host and the network took for the last answer; None: not known."""
        self.resolved: str | None = None
        """The host with its addresses, if libcurl must be told."""
        self.on_sending: Callable[[], None] = _nothing
        """Called when a connection for it exists."""
        self.guard = guard
        self._unusable_ports = unusable_ports
        self._options = options
        self._current: tuple[object, ...] = ()
        self._proxied = False
        self._plain = False
        """Without TLS and HTTP/2. With them, there are bytes between responses that are no response."""

    @property
    def received_bytes(self) -> int:
        return self.head.tell() + self.body.tell()

    @property
    def is_complete(self) -> bool:
        """The body is complete, although libcurl waits for more."""
        return length_despite_coding(self.head.getvalue()) == self.body.tell()

    def forget(self) -> None:
        """Clears the response, and the addresses of the host."""
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
            # Cleared first: a setting that libcurl refuses must not leave the handle half set up.
            self._current = ()
            self._configure(call)
            self._current = settings
        self.body, self.head = BytesIO(), BytesIO()
        self.network_s = None
        self.dialled = self.refused = self.sent = self.withheld = self.is_unwanted = False
        self._url = call.url
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
        curl.setopt(pycurl.PREREQFUNCTION, self._before_send)
        curl.setopt(pycurl.WRITEFUNCTION, self._take_first if call.truncate else self._take)
        self._max_bytes = call.max_bytes
        self._types = call.types
        curl.setopt(pycurl.PROXY, call.proxy)
        # Otherwise libcurl goes around the proxy for the hosts that NO_PROXY lists.
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(pycurl.HTTPHEADER, header_lines(call, call.headers))
        self.clock.set(call.deadline_s)
        if not call.truncate:
            curl.setopt(pycurl.MAXFILESIZE_LARGE, call.max_bytes)
        if call.jar is not None:
            curl.setopt(pycurl.SHARE, call.jar.share)
            curl.setopt(pycurl.COOKIEFILE, "")
        if call.cookies:
            curl.setopt(pycurl.COOKIE, call.cookies.encode())
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
        if self._types is not None and not self.body.tell() and self.has_unwanted_type():
            self.is_unwanted = True
            return 0
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
        # Returns another length than it got, so that libcurl ends the transfer.
        return 0 if self.body.tell() == self._length else len(chunk)

    def has_unwanted_type(self) -> bool:
        content_type = type_of_success(self.head.getvalue())
        if content_type is None or self._types is None:
            return False
        return self._types.refused_by_answer(content_type, self._url) is not None

    def _may_hold(self, size: int) -> bool:
        if self.hold is None:
            self.hold = BodyHold(self._body_memory, self._go_on)
        takes = self.hold.may_grow_to(size)
        if not takes:
            self.clock.stop()
        return takes

    def _go_on(self) -> int:
        """Returns how large the body may become."""
        self.clock.go_on()
        # Data that arrived meanwhile was requested, though nothing was waiting for it.
        self._unusable_ports.discard(int(self.curl.getinfo(pycurl.LOCAL_PORT)))
        length = int(self.curl.getinfo(pycurl.CONTENT_LENGTH_DOWNLOAD_T))
        with suppress(pycurl.error):
            # Fails if the transfer has ended meanwhile; the waiting task is being notified.
            self.curl.pause(pycurl.PAUSE_CONT)
        return length if 0 < length < self._max_bytes else self._max_bytes

    def _open_socket(self, _purpose: int, address: Any) -> socket.socket | int:
        family, kind, protocol, where = address
        # A target behind a proxy was checked before.
        allows = self.guard.allows_proxy if self._proxied else self.guard.allows
        if family not in (socket.AF_INET, socket.AF_INET6) or not allows(where[0]):
            self.refused = True
            return int(pycurl.SOCKET_BAD)
        self.dialled = True
        try:
            return _Dropped(family, kind, protocol)
        except OSError:
            return int(pycurl.SOCKET_BAD)

    def _before_send(self, _ip: str, _local_ip: str, _port: int, local_port: int) -> int:
        # If a reused connection closes without a response, libcurl would repeat the request at once by itself: a second
        # request in the host's slot. Only the frontier may grant a retry.
        if self.dialled:
            self._unusable_ports.discard(local_port)
        self.withheld = self._plain and local_port in self._unusable_ports
        if self.sent or self.withheld:
            return int(pycurl.PREREQFUNC_ABORT)
        self.sent = True
        self.on_sending()
        return int(pycurl.PREREQFUNC_OK)


def _nothing() -> None: ...


class _Dropped(socket.socket):
    """pycurl duplicates the descriptor and drops the object; a plain socket would then warn."""

    def __del__(self) -> None:
        self.close()


def header_lines(call: Fetch, headers: Mapping[str, str]) -> list[bytes]:
    """Our own header fields, replaced by the given ones where both have the same name."""
    lines = dict(_OWN_LINES)
    if call.body:
        # Otherwise libcurl would wait a second for permission to send a large body.
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
        raise UsageError(f"the header {line!r} contains a line break or NUL: remove it")
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()
