"""The API served by gunicorn: threads in one or more processes, ended gracefully, and no client can hold a thread by
sending slowly.

SIGTERM ends it when what is being answered is; SIGHUP replaces its processes one by one, without a refused connection.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn, ThreadWorker

from shoal.control.app import create_app
from shoal.settings import Settings

HEAD_S = 7.0
"""For the head of a request; for its first byte gunicorn holds a thread for five seconds, and then only a socket."""
BODY_S = 60.0
"""For a JSON body, and as much again for every 8 MB of it."""
STREAM_SILENT_S = 60.0
"""A stream may take as long as it likes, but not be silent for longer."""
GRACEFUL_S = 20
_BYTES_PER_BODY_S = 8 << 20


class Application(BaseApplication):
    def __init__(self, settings: Settings, bind: str, processes: int, threads: int) -> None:
        self._settings = settings
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
        return create_app(self._settings)


class Worker(ThreadWorker):
    """Looks once a second for connections that are overdue, and reads no more from those."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._due: dict[TConn, float] = {}

    def handle(self, conn: TConn) -> Any:
        self._due[conn] = time.monotonic() + HEAD_S
        try:
            return super().handle(conn)
        finally:
            self._due.pop(conn, None)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        headers = dict(req.headers)
        self._due.pop(conn, None)
        if headers.get("CONTENT-TYPE", "").startswith("application/json"):
            length = int(headers.get("CONTENT-LENGTH", "0") or 0)
            self._due[conn] = time.monotonic() + BODY_S * (1 + length / _BYTES_PER_BODY_S)
        else:
            conn.sock.settimeout(STREAM_SILENT_S)
        return super().handle_request(req, conn)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Ctrl-C ends it as SIGTERM does; gunicorn's own would wait for ever for a lock that this thread may hold."""
        self.handle_exit(sig, frame)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        super().wait_for_and_dispatch_events(timeout)
        now = time.monotonic()
        for conn, due in list(self._due.items()):
            if now > due:
                self._due.pop(conn, None)
                with suppress(OSError):
                    # Answers can still be sent.
                    conn.sock.shutdown(socket.SHUT_RD)


class _Log(Logger):
    """Into our own log, where every line says when and who."""

    def setup(self, cfg: Any) -> None:
        self.error_log.propagate = True
        self.error_log.handlers = []
        self.access_log.disabled = True
