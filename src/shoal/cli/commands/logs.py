"""`shoal logs`: shows what the fleet's processes on this machine logged about a job, from its start to its end."""

from __future__ import annotations

import time
from datetime import datetime

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import Unavailable, UsageError
from shoal.telemetry.read_logs import Event, LogFilter, LogReader

LOOK_EVERY_S = 0.25


@click.command(cls=Command)
@click.argument("id", required=False)
@click.option("--follow", "-f", is_flag=True, help="Keep printing new events until Ctrl-C.")
def logs(session: Session, id: str | None, follow: bool) -> None:
    """Show the log events about ID from api, tend and workers of this machine and home. Without ID: all events.

    ID is a job (id, id prefix, name or "last") or the X-Request-Id of an API request. The events of all processes are
    merged in order of time; docs/logs.md lists their names.

    \b
    shoal logs last
    shoal logs last --follow
    shoal logs --json
    """
    session.refuse_api("logs", "the log files on a machine of the fleet")
    reader, about = LogReader(session.settings.home), None if id is None else LogFilter(_job_id(session, id))
    try:
        while True:
            events = reader.new_events() if about is None else about.matching(reader.new_events())
            for event in events:
                _show(session, event)
            if not follow:
                if not events:
                    _say_no_events(session, id)
                return
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        return


def _say_no_events(session: Session, id: str | None) -> None:
    concerned = "" if id is None else f" about {safe(id)!r}"
    home = session.settings.home
    session.say(f"no log events{concerned} in {home}: api, tend and workers log there, `shoal crawl` does not")


def _job_id(session: Session, name: str) -> str:
    """Returns the name itself if no job matches or the store is away: it may be the id of a request."""
    try:
        with session.open_places() as places:
            return places.find(name)[1].id
    except (UsageError, Unavailable):
        if name == "last":
            raise
        return name


def _show(session: Session, event: Event) -> None:
    if session.json:
        session.data(event)
        return
    at = datetime.fromisoformat(str(event["at"])).astimezone()
    who = f"{event.get('role')} {event.get('pid')}"
    session.show(safe(f"{at:%Y-%m-%d %H:%M:%S} {who} {event.get('level')}: {event['message']}"))
    if session.verbose and "traceback" in event:
        session.show("\n".join(map(safe, str(event["traceback"]).splitlines())))
