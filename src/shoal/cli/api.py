"""`shoal api`: the role that serves the HTTP API of a fleet."""

from __future__ import annotations

import os

import click

from shoal.cli.first_token import tell_first_token
from shoal.cli.numbers import Whole
from shoal.cli.reach.own_tokens import open_store
from shoal.cli.session import Command, Session
from shoal.errors import Unavailable

INHERITED = {"GUNICORN_FD", "LISTEN_FDS"}
"""By which gunicorn is told of sockets that listen already."""


@click.command(cls=Command)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="The address to listen on.")
@click.option("--port", type=Whole(1, 65535), default=8000, show_default=True, metavar="P", help="The port.")
@click.option("--processes", type=Whole(1, 64), default=1, show_default=True, metavar="N", help="How many.")
@click.option(
    "--threads",
    type=Whole(1, 512),
    default=32,
    show_default=True,
    metavar="M",
    help="Requests answered at once in each.",
)
def api(session: Session, host: str, port: int, processes: int, threads: int) -> None:
    """Serve the HTTP API of the fleet of SHOAL_REDIS_URL until Ctrl-C or SIGTERM.

    What is being answered then is answered. The first time, an admin token is made: it is kept in the file admin-token
    of the home. A terminal shows it once; output to a file or a pipe, or with SHOAL_LOG=json, names only the file.
    SIGHUP replaces the processes without a refused connection. It listens to this machine only, unless told otherwise;
    put TLS in front of it before it listens to others.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal api
    curl -H "Authorization: Bearer $(cat shoal-data/admin-token)" \\
      http://127.0.0.1:8000/api/v1/jobs
    """
    from shoal.control.first_token import FILE, make_first_token
    from shoal.control.serving import Application
    from shoal.fleet.listening import check_port
    from shoal.fleet.place import Fleet
    from shoal.telemetry.roles import set_up_role

    set_up_role("api", session.settings, session.verbose)
    # Raises for settings that name no fleet, before anything else.
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
        tell_first_token(session, token, session.settings.home / FILE)
    session.say(f"the API: http://{address}/api/v1, how to use it: http://{address}/docs")
    application.run()
