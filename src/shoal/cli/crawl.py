"""`shoal crawl`: everything that can be wrong is found before the first request; then the job runs."""

from __future__ import annotations

import time
from typing import Any

import click

from shoal.cli.asked import Asked, asked, asked_options, listed_words
from shoal.cli.numbers import Whole
from shoal.cli.run import run_job
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.jobs.job_id import new_job_id
from shoal.store.export import check_writable
from shoal.store.jobs import create_job
from shoal.urls.exclusions import read_exclusions


@click.command(cls=Command)
@click.option("-o", "--output", metavar="FILE", help="Write the data here: .jsonl, .csv or .parquet; - for stdout.")
@click.option("--concurrency", type=Whole(), default=64, show_default=True, metavar="N", help="In flight in all.")
@asked_options
def crawl(
    session: Session,
    source: tuple[str, ...],
    output: str | None,
    concurrency: int,
    column: str | None,
    strict: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Crawl SOURCE here and now, with live progress; resumable after anything.

    SOURCE is one or more URLs; or @FILE (or - for stdin): a list of URLs, of which just those are fetched; or a spider
    (shop.py, shop.py:name, package.module:name) or rules (shop.yaml).

    \b
    shoal crawl https://example.com -o pages.jsonl
    shoal crawl https://example.com/docs/ --scope prefix --max-pages 500
    shoal crawl @urls.txt --rate 1 -o pages.csv
    shoal crawl books.py -o books.parquet
    """
    if output is not None:
        check_writable(output)
    wanted = asked(session, source, column, strict, output, options)
    if dry_run:
        # Few crawls are, and it has much to load.
        from shoal.cli.dryrun import show_dry_run

        show_dry_run(session, wanted.spec, wanted.sources)
        return
    raise click.exceptions.Exit(_crawl(session, wanted, concurrency))


def _crawl(session: Session, wanted: Asked, concurrency: int) -> int:
    # Whatever is wrong with it must leave no job behind.
    exclusions = read_exclusions(session.settings.exclusions)
    job_id = new_job_id()
    with session.open_home() as home, home.lock.held(job_id):
        home.check()
        # What is found wrong when every line has been read undoes the job with its inputs.
        create_job(home.store, job_id, wanted.spec_once_read, wanted.sources.inputs, time.time())
        if not session.quiet and not session.json:
            if wanted.listed is not None:
                session.say(listed_words(wanted.listed))
            session.say(f"job {job_id}: crawling {safe(wanted.spec.name)} into {session.settings.home}")
        return run_job(session, home, job_id, concurrency, exclusions, wanted.spider)
