"""`shoal submit`: submits a job to the fleet and prints its id."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.backends import SubmittedJob
from shoal.cli.dry_run import refuse_unknown_spider, show_dry_run
from shoal.cli.humanize import plural
from shoal.cli.job_flags import webhook_options
from shoal.cli.job_request import listed_words, read_request, request_options_beside_source
from shoal.cli.option_sections import SectionedCommand
from shoal.cli.scrapy_flags import ScrapyFlags, scrapy_options, take_scrapy_flags
from shoal.cli.session import Session
from shoal.cli.terminal_text import safe


@click.command(cls=SectionedCommand)
@webhook_options
@click.argument("source", nargs=-1)
@scrapy_options
@request_options_beside_source
def submit(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, dry_run: bool, **options: Any
) -> None:
    """Submit a crawl of SOURCE to the fleet at SHOAL_API_URL or SHOAL_REDIS_URL, and print the job's id.

    SOURCE is the same as for `shoal crawl`. Lists and rules are read here. A spider is loaded by the workers: a spider
    file must exist on their machine, so use package.module:name with several machines or an API.

    With --scrapy, workers run a spider of a Scrapy project instead, in --processes processes. It takes -a as Scrapy
    does, limits, --lane, --priority, --name, --sink and --webhook. Everything else is a setting of Scrapy. An API runs
    the projects that were uploaded to it, and those that its operator offers, by their names.

    \b
    shoal submit https://example.com
    shoal submit @urls.txt --lane express
    shoal watch $(shoal submit shops.books:books)
    shoal submit --scrapy /srv/shop --spider books -a category=fiction --processes 4
    """
    scrapy = take_scrapy_flags(session, source, dry_run, options)
    if scrapy is not None:
        if session.settings.api_url:
            from shoal.cli.backends.api_submit import submit_scrapy
        else:
            from shoal.cli.backends.local_submit import submit_scrapy
        _report_scrapy(session, submit_scrapy(session, scrapy), scrapy)
        return
    if dry_run:
        refuse_unknown_spider(session, source)
        request = read_request(session, source, column, strict, None, options)
        show_dry_run(session, request.spec, request.sources)
        return
    if session.settings.api_url:
        from shoal.cli.backends.api_submit import submit_job
    else:
        from shoal.cli.backends.local_submit import submit_job
    _report(session, submit_job(session, source, column, strict, options))


def _report(session: Session, job: SubmittedJob) -> None:
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
    session.say(f"job {job.id}: {safe(job.name)} submitted, {', '.join(parts)}")
    session.say(f"follow it: {session.command('watch', job.id)}")


def _report_scrapy(session: Session, id: str, flags: ScrapyFlags) -> None:
    processes = flags.run.processes
    if session.json:
        session.data({"id": id, "spider": flags.spider, "processes": processes})
        return
    session.show(id)
    if not session.quiet:
        words = "1 process" if processes == 1 else f"{processes:,} processes"
        session.say(f"job {id}: Scrapy spider {safe(flags.spider)} submitted, {words}")
        session.say(f"follow it: {session.command('watch', id)}")
