"""`shoal dashboard`: opens the pages of a fleet or of a home in a browser."""

from __future__ import annotations

import webbrowser
from contextlib import suppress

import click

from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.errors import MissingExtra, UsageError
from shoal.settings import running_up


@click.command(cls=Command)
@click.option(
    "--port", type=Whole(1, 65535), metavar="P", help="Port of a home's dashboard. [default: 8080, or a free one]"
)
@click.option("--no-open", is_flag=True, help="Only print the link; do not start a browser.")
def dashboard(session: Session, port: int | None, no_open: bool) -> None:
    """Look at jobs, errors and data in a browser, and control them.

    With a fleet it opens the pages of the fleet's API, with a link that logs you in once. With a home it serves the
    pages itself until Ctrl-C, on this machine only; crawls run on by themselves.

    \b
    shoal dashboard
    shoal dashboard --home shoal-data --no-open
    """
    settings = session.settings
    if settings.api_url is not None:
        _open(session, f"{settings.api_url}/login", no_open)
    elif settings.redis_url is not None:
        # Imported here: a home needs no fleet.
        from shoal.control.login_links import login_link

        address = running_up(settings.home).get("api") or "http://127.0.0.1:8000"
        _open(session, login_link(settings, address), no_open)
    else:
        _serve_home(session, port, no_open)


def _open(session: Session, link: str, no_open: bool) -> None:
    session.say(f"dashboard: {link}")
    if not no_open:
        with suppress(webbrowser.Error):
            webbrowser.open(link)


def _serve_home(session: Session, port: int | None, no_open: bool) -> None:
    home = session.settings.home
    if not (home / "shoal.db").exists():
        crawl = session.command("crawl", "URL")
        raise UsageError(f"there is no crawl in {home} yet: `{crawl}` makes one; --home names another folder")
    try:
        from shoal.cli.home_dashboard import make_home_server
    except ImportError as error:
        raise MissingExtra("the dashboard needs flask, which is not installed", "dashboard") from error
    server, link = make_home_server(session.settings, port)
    _open(session, link, no_open)
    session.say("the link works once; Ctrl-C ends the dashboard, and no crawl")
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
