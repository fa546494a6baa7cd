"""The API served by gunicorn: threads in one or more processes, ended gracefully, and no client can hold a thread by
sending or reading slowly.

SIGTERM ends it when what is being answered is; SIGHUP replaces its processes one by one, without a refused connection.
"""

from __future__ import annotations

import threading
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from shoal.control.app import create_app
from shoal.control.connection_bounds import Bounds
from shoal.control.deadline import Times
from shoal.control.first_token import make_first_token_later
from shoal.control.gunicorn_worker import Worker
from shoal.control.request_head import LINE_BYTES
from shoal.settings import Settings

GRACEFUL_S = 20


class Application(BaseApplication):
    def __init__(self, settings: Settings, bind: str, processes: int, threads: int, times: Times | None = None) -> None:
        self.needs_token = False
        """To be set if the first token could not be made for want of a database."""
        self._settings = settings
        self._threads = threads
        self.times = times or Times()
        self.bounds = Bounds()
        self.trusted_proxies = settings.trusted_proxies
        self._config = {
            "bind": bind,
            "workers": processes,
            "threads": threads,
            "worker_class": Worker,
            "logger_class": _Log,
            "graceful_timeout": GRACEFUL_S,
            "keepalive": 15,
            "limit_request_line": LINE_BYTES,
            # The worker has bounds of its own, which it never reaches together.
            "worker_connections": self.bounds.files + threads,
            # A client on this machine could name the path that the API is served below, and be answered with 500.
            "forwarder_headers": "",
            "proc_name": "shoal api",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """In each process, after the fork: threads and connections do not survive one."""
        if self.needs_token:
            threading.Thread(target=make_first_token_later, args=(self._settings,), daemon=True).start()
        return create_app(self._settings, self._threads)


class _Log(Logger):
    """Into our own log, where every line says when and who."""

    def setup(self, cfg: Any) -> None:
        self.error_log.propagate = True
        self.error_log.handlers = []
        self.access_log.disabled = True
