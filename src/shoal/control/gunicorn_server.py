"""Serves the API with gunicorn: threads in one or more processes; a slow client cannot hold a thread.

SIGTERM stops it after the current requests are answered. SIGHUP replaces its processes one by one, without refusing
connections.
"""

from __future__ import annotations

import threading
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from shoal.control.app import create_app
from shoal.control.connection_limits import ConnectionLimits
from shoal.control.first_token import make_first_token_later
from shoal.control.gunicorn_worker import Worker
from shoal.control.request_deadline import DeadlineSettings
from shoal.control.request_head import LINE_BYTES
from shoal.settings import Settings

GRACEFUL_S = 20


class Application(BaseApplication):
    def __init__(
        self, settings: Settings, bind: str, processes: int, threads: int, times: DeadlineSettings | None = None
    ) -> None:
        self.needs_token = False
        """Set if the first token could not be created because the database was away."""
        self._settings = settings
        self._threads = threads
        self.times = times or DeadlineSettings()
        self.bounds = ConnectionLimits()
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
            # Higher than the worker's own limits, which apply instead.
            "worker_connections": self.bounds.files + threads,
            # Otherwise a local client could send SCRIPT_NAME as a header, and get a 500.
            "forwarder_headers": "",
            "proc_name": "shoal api",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Called in each process after the fork, which threads and connections do not survive."""
        if self.needs_token:
            threading.Thread(target=make_first_token_later, args=(self._settings,), daemon=True).start()
        return create_app(self._settings, self._threads)


class _Log(Logger):
    """Sends gunicorn's messages to Shoal's log."""

    def setup(self, cfg: Any) -> None:
        self.error_log.propagate = True
        self.error_log.handlers = []
        self.access_log.disabled = True
