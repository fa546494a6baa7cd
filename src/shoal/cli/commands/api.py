"""`shoal api`: serves the HTTP API of a fleet."""

from __future__ import annotations

import os

import click

from shoal.cli.backends.local_tokens import open_store
from shoal.cli.first_token import show_first_token
from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.errors import Unavailable

INHERITED = {"GUNICORN_FD", "LISTEN_FDS"}
"""Environment variables that hand gunicorn sockets which listen already."""


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="Address to listen on.")
@click.option("--port", type=Whole(1, 65535), default=8000, show_default=True, metavar="P", help="Port to listen on.")
@click.option("--processes", type=Whole(1, 64), default=1, show_default=True, metavar="N", help="Server processes.")
@click.option(
    "--threads",
    type=Whole(1, 512),
    default=32,
    show_default=True,
    metavar="M",
    help="Concurrent requests in each process.",
)
def api(session: Session, host: str, port: int, processes: int, threads: int) -> None:
    """Serve the HTTP API of the fleet at SHOAL_REDIS_URL until Ctrl-C or SIGTERM.

    Requests in progress are finished before it stops. The first start creates an admin token and stores it in the file
    admin-token of the home. A terminal shows the token once; output to a file or a pipe, or with SHOAL_LOG=json, names
    only the file. SIGHUP restarts the server processes without refusing connections. By default the API listens on
    this machine only; put a TLS proxy in front of it before you set --host to another address.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal api
    curl -H "Authorization: Bearer $(cat shoal-data/admin-token)" \\
      http://127.0.0.1:8000/api/v1/jobs
    """
    from shoal.control.first_token import FILE, make_first_token
    from shoal.control.gunicorn_server import Application
    from shoal.fleet.fleet import Fleet
    from shoal.fleet.port_check import check_port
    from shoal.telemetry.role_logging import set_up_role

    set_up_role("api", session.settings, session.verbose)
    # Raises for settings without a fleet, before anything else.
    Fleet(session.settings)
    if INHERITED.isdisjoint(os.environ):
        check_port(host, port)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    application = Application(session.settings, address, processes, threads)
    token = None
    try:
        with open_store(session.settings) as store:
            token = make_first_token(store, session.settings)
    except Unavailable as error:
        session.say(f"{error}; the API answers 503 until then")
        application.needs_token = True
    if token is not None:
        show_first_token(session, token, session.settings.home / FILE)
    session.say(f"API: http://{address}/api/v1, documentation: http://{address}/docs")
    application.run()
