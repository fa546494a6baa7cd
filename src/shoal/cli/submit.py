"""`shoal submit`: hands a job to the fleet and prints its id; the fleet does the rest."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.asked import Asked, asked, asked_options
from shoal.cli.dryrun import show_dry_run
from shoal.cli.session import Command, Session, safe
from shoal.cli.words import plural
from shoal.fleet.place import Fleet
from shoal.fleet.submit import Submitted
from shoal.fleet.submit import submit as hand_over


@click.command(cls=Command)
@asked_options
def submit(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, dry_run: bool, **options: Any
) -> None:
    """Hand a crawl of SOURCE to the fleet of SHOAL_REDIS_URL, and print the job's id.

    SOURCE is as for `shoal crawl`. Workers load a spider by the name it is given here: a file must be on their
    machine, so name package.module:name where there are several.

    \b
    shoal submit https://example.com
    shoal submit @urls.txt --lane express
    shoal watch $(shoal submit shops.books:books)
    """
    fleet = Fleet(session.settings)
    wanted = asked(session, source, column, strict, None, options)
    if dry_run:
        show_dry_run(session, wanted.spec, wanted.sources)
        return
    try:
        submitted = session.run(hand_over(fleet, wanted.sources, wanted.spec_once_read))
    finally:
        session.run(fleet.close())
    _tell(session, wanted, submitted)


def _tell(session: Session, wanted: Asked, submitted: Submitted) -> None:
    if session.json:
        counts = {"accepted": submitted.accepted, "duplicates": submitted.duplicates, "rejected": submitted.rejected}
        session.data({"id": submitted.id, **counts})
        return
    session.show(submitted.id)
    if session.quiet:
        return
    wanted.tell_scope()
    parts = [plural(submitted.accepted, "URL")]
    parts += [plural(submitted.duplicates, "duplicate")] if submitted.duplicates else []
    parts += [f"{submitted.rejected:,} rejected"] if submitted.rejected else []
    session.say(f"job {submitted.id}: {safe(wanted.spec.name)} is the fleet's now, {', '.join(parts)}")
    session.say(f"follow it: {session.command('watch', submitted.id)}")
