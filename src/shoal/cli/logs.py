"""`shoal logs`: what the roles of this machine have logged of one job, from the request that began it to its end."""

from __future__ import annotations

import time
from datetime import datetime

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.errors import Unavailable, UsageError
from shoal.telemetry.reading import About, Event, Reader

LOOK_EVERY_S = 0.25


@click.command(cls=Command)
@click.argument("id", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on with what is logged from now on, until Ctrl-C.")
def logs(session: Session, id: str | None, follow: bool) -> None:
    """Show what api, tend and workers of this machine and home logged about ID, or everything.

    ID is a job (its id, the beginning of one, or "last") or the X-Request-Id of a call of the API. The events of all
    roles come in one stream, in the order of their times; docs/logs.md has their names.

    \b
    shoal logs last
    shoal logs last --follow
    shoal logs --json
    """
    session.refuse_api("logs", "the files of a machine of the fleet")
    reader, about = Reader(session.settings.home), None if id is None else About(_job_id(session, id))
    try:
        while True:
            events = reader.more() if about is None else about.pick(reader.more())
            for event in events:
                _show(session, event)
            if not follow:
                if not events:
                    _say_nothing_is_there(session, id)
                return
            time.sleep(LOOK_EVERY_S)
    except KeyboardInterrupt:
        return


def _say_nothing_is_there(session: Session, id: str | None) -> None:
    concerned = "" if id is None else f" about {safe(id)!r}"
    session.say(f"nothing is logged{concerned} in {session.settings.home}: api, tend and workers log, a crawl does not")


def _job_id(session: Session, name: str) -> str:
    """What no job is called so, or cannot be looked up now, is taken as it is: it may be a request's."""
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
