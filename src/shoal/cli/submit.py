"""`shoal submit`: hands a job to the fleet and prints its id; the fleet does the rest."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.asked import asked, asked_options, listed_words
from shoal.cli.dryrun import refuse_unknown_spider, show_dry_run
from shoal.cli.reach import HandedOver
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.cli.words import plural


@click.command(cls=Command)
@asked_options
def submit(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, dry_run: bool, **options: Any
) -> None:
    """Hand a crawl of SOURCE to the fleet of SHOAL_API_URL or SHOAL_REDIS_URL, and print the job's id.

    SOURCE is as for `shoal crawl`. Lists and rules are read here. Workers load a spider by the name it is given here:
    a file must be on their machine, so name package.module:name where there are several, or an API.

    \b
    shoal submit https://example.com
    shoal submit @urls.txt --lane express
    shoal watch $(shoal submit shops.books:books)
    """
    if dry_run:
        refuse_unknown_spider(session, source)
        wanted = asked(session, source, column, strict, None, options)
        show_dry_run(session, wanted.spec, wanted.sources)
        return
    if session.settings.api_url:
        from shoal.cli.reach.api_submit import hand_over
    else:
        from shoal.cli.reach.own_submit import hand_over
    _tell(session, hand_over(session, source, column, strict, options))


def _tell(session: Session, job: HandedOver) -> None:
    if session.json:
        counts = {"accepted": job.accepted, "duplicates": job.duplicates, "rejected": job.rejected}
        session.data({"id": job.id, **counts})
        return
    session.show(job.id)
    if session.quiet:
        return
    if job.listed is not None:
        session.say(listed_words(job.listed))
    parts = [plural(job.accepted, "URL")]
    parts += [plural(job.duplicates, "duplicate")] if job.duplicates else []
    parts += [f"{job.rejected:,} rejected"] if job.rejected else []
    session.say(f"job {job.id}: {safe(job.name)} is the fleet's now, {', '.join(parts)}")
    session.say(f"follow it: {session.command('watch', job.id)}")
