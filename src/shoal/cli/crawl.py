"""`shoal crawl`: everything that can be wrong is found before the first request; then the job runs."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import click

from shoal.cli.dryrun import show_dry_run
from shoal.cli.options import job_options
from shoal.cli.run import run_job
from shoal.cli.session import Command, Session, safe, shortened
from shoal.embedded.job_id import new_job_id
from shoal.errors import UsageError
from shoal.model import JobSpec, ScopeKind
from shoal.spiders.lists import reason_words
from shoal.spiders.naming import spider_among
from shoal.spiders.sources import Sources, read_sources
from shoal.spiders.wish import Wish
from shoal.store.export import check_writable
from shoal.store.jobs import create_job
from shoal.urls.exclusions import read_exclusions

BAD_LINES_SHOWN = 20
SPELT_SHOWN = 200


@click.command(cls=Command)
@click.argument("source", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write the data here: .jsonl, .csv or .parquet; - for stdout.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=64, show_default=True, metavar="N", help="In flight in all."
)
@click.option("--column", metavar="NAME", help="The list is CSV: take URLs from this column (name or number).")
@click.option("--strict", is_flag=True, help="Exit 2 if a line of the list is bad.")
@click.option("--dry-run", is_flag=True, help="URLs per host, robots, duration; fetches nothing but robots.txt.")
@job_options
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
    spider, words = spider_among(source)
    if spider is not None:
        words = [*spider.urls, *words]
    if not words:
        raise UsageError(f"the spider {spider.name if spider else ''} names no URL to start from: give one")
    wish = Wish.of(_given(options), spider, session.settings.allow_private)
    sources = read_sources(words, wish.params, wish.group, column, sys.stdin.buffer)
    spec = wish.spec(sources, output)
    if dry_run:
        show_dry_run(session, spec, sources)
        return
    raise click.exceptions.Exit(_crawl(session, spec, sources, concurrency, strict))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were typed, not those that have a default."""
    context = click.get_current_context()
    return {
        name: value
        for name, value in options.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }


def _crawl(session: Session, spec: JobSpec, sources: Sources, concurrency: int, strict: bool) -> int:

    def spec_once_read() -> JobSpec:
        # Raising in here, when every line has been read, undoes the job with its inputs.
        _report_bad_lines(session, sources, strict)
        return replace(spec, credentials=sources.credentials, agent=session.settings.user_agent)

    # Whatever is wrong with it must leave no job behind.
    exclusions = read_exclusions(session.settings.exclusions)
    job_id = new_job_id()
    with session.open_home(must_exist=False) as home, home.locked(job_id):
        create_job(home.store, job_id, spec_once_read, sources.inputs, time.time())
        if not session.quiet and not session.json:
            _announce(session, job_id, spec, sources)
        return run_job(session, home, job_id, concurrency, exclusions)


def _announce(session: Session, job_id: str, spec: JobSpec, sources: Sources) -> None:
    if sources.listed and spec.scope is ScopeKind.LISTED:
        session.say(
            f"scope listed: {sources.good:,} URLs are fetched, their links are not followed (--scope changes it)"
        )
    session.say(f"job {job_id}: crawling {safe(spec.name)} into {session.settings.home}")


def _report_bad_lines(session: Session, sources: Sources, strict: bool) -> None:
    for line, spelt, reason in sources.bad[:BAD_LINES_SHOWN]:
        session.say(f"line {line}: {shortened(safe(spelt), SPELT_SHOWN)!r}: {reason_words(reason)}")
    if sources.bad_count > BAD_LINES_SHOWN:
        session.say(
            f"and {sources.bad_count - BAD_LINES_SHOWN:,} more bad lines; `shoal export ID --inputs` has them all"
        )
    if strict and sources.bad_count:
        raise UsageError(f"{sources.bad_count:,} bad lines, and --strict was given")
    if not sources.good:
        raise UsageError("none of the sources is a URL that can be fetched")
