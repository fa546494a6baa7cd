"""`shoal jobs` and `shoal job`: which jobs there are, and everything about one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from shoal.cli.session import Command, Session, table, width

if TYPE_CHECKING:
    pass

HEADER = ("id", "state", "pages", "queued", "dead", "started", "name")
NUMBERS = frozenset({2, 3, 4})


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N jobs.")
def jobs(session: Session, limit: int) -> None:
    """List the jobs of the home, newest first.

    \b
    shoal jobs
    shoal jobs --limit 100 --json
    """
    if not (session.settings.home / "shoal.db").exists():
        _say_there_are_none(session)
        return
    from shoal.store.jobs import list_jobs

    with session.open_home() as home:
        found = list_jobs(home.store, limit + 1)
        if session.json:
            asyncio.run(_print_figures(session, home, [job.id for job in found[:limit]]))
        elif not found:
            _say_there_are_none(session)
        else:
            rows = asyncio.run(_standings(home, limit))
            for line in table(map(_row, rows), HEADER, width(), NUMBERS):
                session.show(line)
            if len(found) > limit:
                session.say(f"there are older ones: shoal jobs --limit {limit * 5}")
