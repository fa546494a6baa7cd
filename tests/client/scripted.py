"""What answers as it is told, not as an API does: for answers that an API gives seldom, or never whole."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

END = b"\r\n\r\n"


@dataclass
class Scripted:
    url: str
    asked: list[bytes] = field(default_factory=list)
    """The head of each request."""
    unanswered: list[socket.socket] = field(default_factory=list)


@contextmanager
def scripted(*answers: bytes | None) -> Iterator[Scripted]:
    """One connection for each answer, of whose request no more is read than its head. None: it is never answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = Scripted(f"http://127.0.0.1:{server.getsockname()[1]}")
        thread = threading.Thread(target=_serve, args=(server, answers, told), daemon=True)
        thread.start()
        yield told
        thread.join(60)
        for connection in told.unanswered:
            connection.close()
        assert not thread.is_alive(), "not every answer was asked for"


@contextmanager
def slow_api(takes_s: float) -> Iterator[str]:
    """Its URL. Each answer takes so long, however often it is asked for."""

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(takes_s)
            # Whoever asked may be gone.
            with suppress(OSError):
                self.wfile.write(answer("200 OK"))

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def answer(status: str, body: bytes = b"{}", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "Connection: close"]).encode() + END + body


def _serve(server: socket.socket, answers: tuple[bytes | None, ...], told: Scripted) -> None:
    server.settimeout(60)
    for one in answers:
        connection, _ = server.accept()
        with connection:
            head = b""
            while END not in head and (some := connection.recv(4096)):
                head += some
            told.asked.append(head.partition(END)[0])
            if one is None:
                told.unanswered.append(connection.dup())
            else:
                connection.sendall(one)
