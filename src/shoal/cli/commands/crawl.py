"""`shoal crawl`: validates all input before the first request, then runs the job in this process."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.job_flags import concurrency_option
from shoal.cli.job_request import JobRequest, listed_words, read_request, request_options
from shoal.cli.option_sections import SectionedCommand
from shoal.cli.output_options import OutputFlags, output_options
from shoal.cli.run_job import run_job
from shoal.cli.session import Session
from shoal.cli.stdio import prints_to_stderr
from shoal.cli.terminal_text import safe
from shoal.errors import UsageError
from shoal.jobs.job_id import new_job_id
from shoal.store.jobs import create_job
from shoal.store.results.columns import page_columns
from shoal.urls.exclusions import read_exclusions

if TYPE_CHECKING:
    from shoal.cli.output_file import OutputFile


@click.command(cls=SectionedCommand)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the data to FILE: .jsonl or .csv as it is found (- is JSON lines to stdout); .json, .parquet, "
    ".jsonl.gz, .csv.zst …, s3://BUCKET/FILE or a dataset, DIR/, at the end. {date} and {job} in its name are "
    "replaced.",
)
@output_options
@concurrency_option
@request_options
def crawl(
    session: Session,
    source: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    append: bool,
    fields: str | None,
    partition: str | None,
    concurrency: int,
    column: str | None,
    strict: bool,
    dry_run: bool,
    **options: Any,
) -> None:
    """Crawl SOURCE in this terminal, with live progress. An interrupted crawl can be resumed.

    SOURCE is one or more URLs; or @FILE (or - for stdin), a list of URLs: only those are fetched, not their links; or
    a spider (shop.py, shop.py:name, package.module:name); or rules (shop.yaml). A sitemap or feed is read for its
    URLs.

    \b
    shoal crawl https://example.com -o pages.jsonl
    shoal crawl https://example.com/docs/ --scope prefix --max-pages 500
    shoal crawl @urls.txt --rate 1 -o pages.csv
    shoal crawl books.py -o books.parquet
    """
    job_id = new_job_id()
    flags = OutputFlags(overwrite, append, fields, partition=partition)
    flags.check_used(output)
    file = None if output is None else _output_file(output, job_id, flags)
    with prints_to_stderr():
        request = read_request(session, source, column, strict, None, options)
    if file is not None:
        request = _with_output(request, file)
    elif options["provenance"] and not request.spec.sinks:
        raise UsageError("--provenance is about the file of -o and sinks: give -o FILE or --sink URL, or leave it out")
    if dry_run:
        # Imported here: it is slow to load, and few crawls need it.
        from shoal.cli.dry_run import show_dry_run

        show_dry_run(session, request.spec, request.sources)
        return
    raise click.exceptions.Exit(_crawl(session, request, job_id, concurrency))


def _output_file(output: str, job_id: str, flags: OutputFlags) -> OutputFile:
    # Imported here only: a crawl without -o does not need it.
    from shoal.cli.output_file import output_file

    return output_file(output, job_id, flags)


def _with_output(request: JobRequest, file: OutputFile) -> JobRequest:
    from shoal.cli.output_file import check_columns

    columns, what = page_columns(request.spec.formats), "pages"
    file = file._replace(view=replace(file.view, provenance=request.spec.provenance))
    if request.spider is not None:
        from shoal.spiders.item_schema import declared_items, type_of
        from shoal.store.results.items import item_columns

        columns, what = item_columns([type_of(cls) for cls in declared_items(request.spider)]), "items"
        file = file._replace(view=replace(file.view, may_lack=request.spider.rules is None))
    check_columns(file, what, columns, bool(columns))
    spec = replace(
        request.spec,
        output=file.path,
        output_fields=file.view.fields,
        output_kept_bytes=file.kept_bytes,
        output_partition=file.partition,
        output_overwrite=file.overwrite,
    )
    return request._replace(spec=spec)


def _crawl(session: Session, request: JobRequest, job_id: str, concurrency: int) -> int:
    # Before the job is created: a bad pattern must leave no job behind.
    exclusions = read_exclusions(session.settings.exclusions)
    if request.spec.sinks:
        from shoal.sinks.check_sinks import check_sinks

        check_sinks(job_id, request.spec, session.settings.secrets, request.spider)
    with session.open_home() as home, home.lock_of(job_id).held():
        home.check()
        # An error found after the last line was read rolls the job back together with its inputs.
        create_job(home.store, job_id, request.spec_once_read, request.sources.inputs, time.time())
        if not session.quiet and not session.json:
            if request.listed is not None:
                session.say(listed_words(request.listed))
            session.say(f"job {job_id}: crawling {safe(request.spec.name)} into {session.settings.home}")
        return run_job(session, home, job_id, concurrency, exclusions, request.spider)
