"""`shoal extract`: extracts a job's items again from its archive, without fetching anything."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shoal.cli.deliver_rest import deliver_rest
from shoal.cli.humanize import count, plural
from shoal.cli.no_items_text import MOST_SHOWN, shell_command
from shoal.cli.numbers import Share, Whole
from shoal.cli.output_file import output_file
from shoal.cli.output_options import PROVENANCE, OutputFlags, output_options
from shoal.cli.progress_line import ProgressLine
from shoal.cli.quality_table import quality_lines, quality_records
from shoal.cli.session import Command, Session
from shoal.cli.stdio import prints_to_stderr
from shoal.cli.terminal_text import safe
from shoal.cli.write_data_file import write_data
from shoal.errors import ExtractionFailed, UsageError
from shoal.jobs.deployment import Deployment
from shoal.jobs.job_overview import MOST_UNMATCHED
from shoal.jobs.job_quality import job_quality
from shoal.jobs.no_items import unmatched_words
from shoal.jobs.reextraction import Progress, Reextraction
from shoal.model import ENDED
from shoal.spiders.load_spider import load_spider
from shoal.spiders.spider import Spider
from shoal.spiders.spider_reference import RULES_SUFFIXES
from shoal.store.jobs import Job, load_job

FAULTS_SHOWN = 5


@click.command(cls=Command)
@click.argument("job")
@click.option("--rules", metavar="FILE", help="Extract with these rules (YAML or JSON).")
@click.option("--spider", metavar="SPIDER", help="Extract with this spider: shop.py[:name] or package.module:name.")
@click.option("-o", "--output", metavar="FILE", help="Also write the items: .jsonl, .csv, .json or .parquet.")
@output_options
@PROVENANCE
@click.option("--processes", type=Whole(), metavar="N", help="At most N processes extract. Default: one per core.")
@click.option(
    "--max-failure-rate",
    type=Share(),
    default=0.0,
    metavar="R",
    help="Keep the old items if the spider fails on more than this share of pages. Default: 0.",
)
@click.option(
    "--allow-empty", is_flag=True, help="Replace the items even if there is no new one, and exit with code 0."
)
def extract(
    session: Session,
    job: str,
    rules: str | None,
    spider: str | None,
    output: str | None,
    overwrite: bool,
    append: bool,
    fields: str | None,
    provenance: bool,
    partition: str | None,
    processes: int | None,
    max_failure_rate: float,
    allow_empty: bool,
) -> None:
    """Extract items again from the archived pages of JOB (id, id prefix, name or "last"), with new rules or a spider.

    Nothing is fetched. The new items replace all items of the job in one step, after the last page was read. If the
    command fails, finds no item or is interrupted, the job keeps its old items.

    \b
    shoal extract last --rules shop.yaml
    shoal extract last --spider shop.py -o items.parquet
    """
    session.refuse_api("extract", "the archive and store of the fleet")
    flags = OutputFlags(overwrite, append, fields, provenance, partition)
    flags.check_used(output)
    with prints_to_stderr():
        loaded = _spider(rules, spider)
    with session.open_places() as places:
        place, found = places.find(job)
        file = None if output is None else output_file(output, found.id, flags)
        display = _ProgressDisplay(session, safe(found.spec.name))
        extraction = Reextraction(place, found, loaded, max_failure_rate, processes, allow_empty)
        try:
            progress = extraction.run(display.update)
        finally:
            display.clear()
        written = None if file is None or progress.kept else write_data(place.store, found.id, "items", file)
        _report(session, place, found.id, progress, written)
        deliver_rest(session, place, found)
        if progress.no_items is not None:
            raise ExtractionFailed(_no_items_line(session, found, progress))


def _spider(rules: str | None, spider: str | None) -> Spider:
    if (rules is None) == (spider is None):
        raise UsageError("give either --rules FILE or --spider SPIDER")
    if rules is not None and Path(rules).suffix.lower() not in RULES_SUFFIXES:
        raise UsageError(f"--rules {rules}: not a {' or '.join(RULES_SUFFIXES)} file; for a spider use --spider")
    return load_spider(rules or spider or "")


class _ProgressDisplay:
    """Shows the progress at the rate of the progress line."""

    def __init__(self, session: Session, name: str) -> None:
        self._line = ProgressLine(session)
        self._name = name
        self._drawn_at = time.monotonic()

    def update(self, progress: Progress) -> None:
        if time.monotonic() - self._drawn_at >= self._line.every_s:
            self._drawn_at = time.monotonic()
            self._line.draw(
                f"{self._name} {count(progress.pages)}/{count(progress.total)} "
                f"{100 * progress.pages // progress.total}% {progress.pages / progress.seconds:.1f} p/s "
                f"items {count(progress.items)}" + (f" failed {count(progress.failed)}" if progress.failed else "")
            )

    def clear(self) -> None:
        self._line.clear()


def _report(session: Session, place: Deployment, job: str, progress: Progress, written: int | None) -> None:
    found = load_job(place.store, job)
    # Old items that the job keeps are no result of this command.
    now, before = ([], []) if progress.kept else job_quality(place.store, found)
    if session.json:
        for record in quality_records(now, before):
            session.data(record)
        session.data(_summary(job, progress))
        return
    if session.quiet:
        return
    session.say(
        f"{plural(progress.pages, 'page')} read in {progress.seconds:.1f} s: {plural(progress.items, 'item')}, "
        f"{plural(progress.rejects, 'reject')}"
    )
    for line in (*_replaced(progress), *_shortfalls(session, found, progress), *_fault_lines(progress)):
        session.say(line)
    for line in _unmatched_lines(progress):
        session.say(line)
    for line in quality_lines(now, before, shutil.get_terminal_size().columns):
        session.say(line)
    if written is not None:
        session.say(f"{plural(written, 'item')} written")
    session.say(f"see also: {session.command('items', job)}")


def _summary(job: str, progress: Progress) -> dict[str, Any]:
    return {
        "type": "summary",
        "job": job,
        "pages": progress.pages,
        "items": progress.items,
        "rejected": progress.rejects,
        "failed": progress.failed,
        "left_out": progress.left_out,
        "seconds": round(progress.seconds, 3),
        "no_items": progress.no_items,
        "unmatched": [asdict(one) for one in progress.selectors.found()[:MOST_UNMATCHED]],
    }


def _no_items_line(session: Session, job: Job, progress: Progress) -> str:
    words = f"no items: {safe(progress.no_items or '')}"
    if progress.kept:
        words += f"; nothing was replaced, and the job keeps its {plural(progress.kept, 'item')}"
    elif progress.rejects:
        return f"{words}; see them: {session.command('items', job.id, '--rejected')}"
    if unmatched := progress.selectors.found():
        return f"{words}; try it: {shell_command(session, job.spec, unmatched[0].sample)}"
    return f"{words}; if that is right, use --allow-empty"


def _unmatched_lines(progress: Progress) -> Iterator[str]:
    for one in progress.selectors.found()[:MOST_SHOWN]:
        words = unmatched_words(one.selector, one.pages)
        if words not in (progress.no_items or ""):
            yield f"  {safe(words)} ({one.use} in {safe(one.callback)})"


def _replaced(progress: Progress) -> Iterator[str]:
    if progress.replaced is not None and (old := progress.replaced.old):
        yield f"  {_of_types(old)} replaced by {_of_types(progress.replaced.new) or 'none'}"


def _of_types(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{plural(n, 'item')} of {safe(type)}" for type, n in sorted(counts.items()))


def _shortfalls(session: Session, job: Job, progress: Progress) -> Iterator[str]:
    if job.state not in ENDED:
        yield "  the job has not ended: pages that it fetches from now on have no items until you extract again"
    if progress.left_out:
        yield f"  skipped: {plural(progress.left_out, 'page')} whose bodies are not in the archive"
    if progress.rejects and not progress.kept:
        yield f"  why rejected: {session.command('items', job.id, '--rejected')}"


def _fault_lines(progress: Progress) -> Iterator[str]:
    shown = progress.faults.most_common(FAULTS_SHOWN)
    for reason, n in shown:
        yield f"  failed on {plural(n, 'page')}: {safe(reason)}"
    if more := progress.failed - sum(n for _, n in shown):
        yield f"  failed on {plural(more, 'more page')} for other reasons"
