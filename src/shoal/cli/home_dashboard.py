"""A web server on this machine for the pages of a home."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

from flask import Flask
from werkzeug.serving import BaseWSGIServer, make_server

from shoal.dashboard.home_source import OWNER, HomeSource, owner_of_home
from shoal.dashboard.login import Login
from shoal.dashboard.pages import dashboard
from shoal.dashboard.sessions import MemorySessions, login_code
from shoal.embedded.home import Home
from shoal.errors import UsageError
from shoal.settings import Settings
from shoal.urls.exclusions import read_exclusions

HOST, PORT = "127.0.0.1", 8080
FORM_BYTES = 1 << 20


def make_home_server(settings: Settings, port: int | None) -> tuple[BaseWSGIServer, str]:
    """The server, and a link that logs in once. Raises UsageError if the port is taken."""
    sessions = MemorySessions()
    source = HomeSource(
        str(settings.home), lambda: Home(settings.home, settings.archive_url), read_exclusions(settings.exclusions)
    )
    app = Flask("shoal", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = FORM_BYTES
    app.register_blueprint(dashboard(source, Login(sessions, owner_of_home, lambda _: None)))
    # It would print a line for every request.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = _listening(app, port)
    return server, f"http://{HOST}:{server.port}/login?code={login_code(sessions, OWNER)}"


def _listening(app: Flask, port: int | None) -> BaseWSGIServer:
    for wanted in (port,) if port else (PORT, 0):
        # Opened here: if the port is taken, Werkzeug would say so itself and exit.
        with suppress(OSError), socket.create_server((HOST, wanted)) as listener:
            return make_server(HOST, wanted, app, threaded=True, fd=listener.fileno())
    raise UsageError(f"port {port} of {HOST} is taken: choose another with --port")
