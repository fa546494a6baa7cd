"""The API served by gunicorn: threads in one or more processes, ended gracefully, and no client can hold a thread by
sending or reading slowly.

SIGTERM ends it when what is being answered is; SIGHUP replaces its processes one by one, without a refused connection.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn, ThreadWorker
from werkzeug.wsgi import ClosingIterator

from shoal.control.app import create_app
from shoal.settings import Settings

HEAD_S = 7.0
"""For the head of a request; for its first byte gunicorn holds a thread for five seconds, and then only a socket."""
BODY_S = 60.0
"""For a JSON body, and as much again for every 8 MB of it."""
SILENT_S = 60.0
"""No longer may a client send nothing that it owes, or take to read a piece of the answer."""
PIECE = 1 << 16
PIECE_S = 300.0
"""For every piece of a stream: it may take as long as it likes, but not drip."""
GRACEFUL_S = 20
_BYTES_PER_BODY_S = 8 << 20

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Application(BaseApplication):
    def __init__(self, settings: Settings, bind: str, processes: int, threads: int) -> None:
        self._settings = settings
        self._threads = threads
        self._config = {
            "bind": bind,
            "workers": processes,
            "threads": threads,
            "worker_class": Worker,
            "logger_class": _Log,
            "graceful_timeout": GRACEFUL_S,
            "keepalive": 15,
            "limit_request_line": 8190,
            "proc_name": "shoal api",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """In each process, after the fork: threads and connections do not survive one."""
        return create_app(self._settings, self._threads)


class Worker(ThreadWorker):
    """Looks once a second for connections that are overdue, and reads no more from those."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._due: dict[socket.socket, float] = {}

    def load_wsgi(self) -> None:
        super().load_wsgi()
        app: Wsgi = self.wsgi
        self.wsgi: Wsgi = self._paced(app)

    def handle(self, conn: TConn) -> Any:
        self._due[conn.sock] = time.monotonic() + HEAD_S
        try:
            return super().handle(conn)
        finally:
            self._due.pop(conn.sock, None)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        headers = dict(req.headers)
        self._due.pop(conn.sock, None)
        conn.sock.settimeout(SILENT_S)
        if _is_json(headers.get("CONTENT-TYPE", "")):
            length = int(headers.get("CONTENT-LENGTH", "0") or 0)
            self._due[conn.sock] = time.monotonic() + BODY_S * (1 + length / _BYTES_PER_BODY_S)
        try:
            return super().handle_request(req, conn)
        except TimeoutError as error:
            # Who does not read will not read how it ends, either; the loop would wait for that, and log a fault.
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RDWR)
            raise StopIteration() from error

    def _paced(self, app: Wsgi) -> Wsgi:
        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            if not _is_json(environ.get("CONTENT_TYPE", "")):
                environ["wsgi.input"] = _Stream(environ["wsgi.input"], environ["gunicorn.socket"], self._due)
            sent = app(environ, start_response)
            return ClosingIterator(_pieces(sent), getattr(sent, "close", None))

        return answer

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Ctrl-C ends it as SIGTERM does; gunicorn's own would wait for ever for a lock that this thread may hold."""
        self.handle_exit(sig, frame)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        super().wait_for_and_dispatch_events(timeout)
        now = time.monotonic()
        for sock, due in list(self._due.items()):
            if now > due:
                self._due.pop(sock, None)
                with suppress(OSError):
                    # Answers can still be sent.
                    sock.shutdown(socket.SHUT_RD)


class _Stream(io.RawIOBase):
    """A request's body, overdue if a piece of it takes too long; what is done between the pieces may."""

    def __init__(self, body: Any, sock: socket.socket, due: dict[socket.socket, float]) -> None:
        self._body, self._sock, self._due = body, sock, due

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._due[self._sock] = time.monotonic() + PIECE_S
        try:
            some = self._body.read(min(len(buffer), PIECE))
        finally:
            self._due.pop(self._sock, None)
        buffer[: len(some)] = some
        return len(some)


def _pieces(sent: Iterable[bytes]) -> Iterator[bytes]:
    """A timeout is for each piece that is sent, however long the answer is."""
    for part in sent:
        for start in range(0, len(part), PIECE):
            yield part[start : start + PIECE]


def _is_json(content_type: str) -> bool:
    return content_type.lower().startswith("application/json")


class _Log(Logger):
    """Into our own log, where every line says when and who."""

    def setup(self, cfg: Any) -> None:
        self.error_log.propagate = True
        self.error_log.handlers = []
        self.access_log.disabled = True
