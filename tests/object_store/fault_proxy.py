"""A way between a client and an HTTP server on which a test makes requests fail, wait and arrive damaged."""

from __future__ import annotations

import http.client
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

_AT_ONCE = struct.pack("ii", 1, 0)
_HOPS = ("connection", "transfer-encoding", "content-length", "keep-alive", "date", "server")


class Asked(NamedTuple):
    method: str
    path: str


class Fault(NamedTuple):
    """What happens to a request. The default passes it on."""

    status: int | None = None
    """Answered so, and not passed on."""
    resets: bool = False
    """The connection is reset instead of an answer; with `passes` the server has the request."""
    passes: bool = False
    damages: bool = False
    """A byte of the body is another when it arrives."""
    holds: threading.Event | None = None
    """It waits for this before it is passed on."""


NO_FAULT = Fault()


class FaultProxy:
    def __init__(self, to_port: int, tls: ssl.SSLContext | None = None) -> None:
        self._scheme = "http" if tls is None else "https"
        self.fault: Callable[[Asked], Fault] = lambda _: NO_FAULT
        self.asked: Counter[str] = Counter()
        """How many requests came, by method."""
        handler = type("Handler", (_Handler,), {"proxy": self, "to_port": to_port})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def fail(self, fault: Fault, *methods: str, times: int | None = None) -> None:
        """Requests of these methods, or all, get this fault; so often, or until `mend`."""
        left = [times]

        def choose(asked: Asked) -> Fault:
            if methods and asked.method not in methods:
                return NO_FAULT
            if left[0] is not None:
                if not left[0]:
                    return NO_FAULT
                left[0] -= 1
            return fault

        self.fault = choose

    def mend(self) -> None:
        self.fault = lambda _: NO_FAULT

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy
    to_port: int

    def _serve(self) -> None:
        self.proxy.asked[self.command] += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault(Asked(self.command, self.path))
        if fault.holds is not None:
            fault.holds.wait()
        if fault.damages and body:
            body = bytes((body[0] ^ 1,)) + body[1:]
        if fault.status is not None:
            self._answer(fault.status, [], b"")
        elif fault.resets and not fault.passes:
            self._reset()
        else:
            self._pass_on(body, fault)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve

    def _pass_on(self, body: bytes, fault: Fault) -> None:
        server = http.client.HTTPConnection("127.0.0.1", self.to_port)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            server.request(self.command, self.path, body, headers)
            answer = server.getresponse()
            content = answer.read()
            if fault.resets:
                self._reset()
            else:
                self._answer(answer.status, answer.getheaders(), content)
        finally:
            server.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        length = {name.lower(): value for name, value in headers}.get("content-length")
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _HOPS:
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            # The client went away, or `_reset` closed its connection.
            pass

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            pass
