"""`shoal extract`: new items out of the archive of a job, without fetching anything."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from shoal.cli.live import Line
from shoal.cli.numbers import Share, Whole
from shoal.cli.output import write_data
from shoal.cli.quality import quality_lines, quality_records
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.cli.words import count, plural
from shoal.errors import UsageError
from shoal.jobs.extraction import Extraction, Progress
from shoal.jobs.place import Place
from shoal.jobs.quality import job_quality
from shoal.model import ENDED
from shoal.spiders.loading import load_spider
from shoal.spiders.naming import RULES_ENDINGS
from shoal.spiders.spider import Spider
from shoal.store.jobs import Job, load_job

FAULTS_SHOWN = 5


@click.command(cls=Command)
@click.argument("job")
@click.option("--rules", metavar="FILE", help="Rules in YAML or JSON.")
@click.option("--spider", metavar="SPIDER", help="shop.py, shop.py:name or package.module:name.")
@click.option("-o", "--output", metavar="FILE", help="Also write the items: .jsonl, .csv or .parquet.")
@click.option("--processes", type=Whole(), metavar="N", help="Default: one for each core.")
@click.option(
    "--max-failure-rate",
    type=Share(),
    default=0.0,
    metavar="R",
    help="Share of pages on which the spider may fail. Default: 0, and nothing is replaced.",
)
def extract(
    session: Session,
    job: str,
    rules: str | None,
    spider: str | None,
    output: str | None,
    processes: int | None,
    max_failure_rate: float,
) -> None:
    """Run new rules or a spider over the archived pages of JOB (an id, the beginning of one, or "last").

    Nothing is fetched. What it gives replaces all items of the job, at once when all pages have been read; they stay
    as they are if that fails or is interrupted.

    \b
    shoal extract last --rules shop.yaml
    shoal extract last --spider shop.py -o items.parquet
    """
    session.refuse_api("extract", "the archive and store of the fleet")
    loaded = _spider(rules, spider)
    with session.open_places() as places:
        place, found = places.find(job)
        watched = _Watched(session, safe(found.spec.name))
        extraction = Extraction(place, found, loaded, max_failure_rate, processes)
        try:
            progress = extraction.run(watched.note)
        finally:
            watched.clear()
        written = None if output is None else write_data(place.store, found.id, "items", output)
        _report(session, place, found.id, progress, written)


def _spider(rules: str | None, spider: str | None) -> Spider:
    if (rules is None) == (spider is None):
        raise UsageError("say what to extract with: --rules FILE, or --spider SPIDER, and not both")
    if rules is not None and Path(rules).suffix.lower() not in RULES_ENDINGS:
        raise UsageError(f"--rules {rules}: rules end with {' or '.join(RULES_ENDINGS)}; a spider is given by --spider")
    return load_spider(rules or spider or "")


class _Watched:
    """The progress, drawn no more often than it can be read."""

    def __init__(self, session: Session, name: str) -> None:
        self._line = Line(session)
        self._name = name
        self._drawn_at = time.monotonic()

    def note(self, progress: Progress) -> None:
        if time.monotonic() - self._drawn_at >= self._line.every_s:
            self._drawn_at = time.monotonic()
            self._line.draw(
                f"{self._name} {count(progress.pages)}/{count(progress.total)} "
                f"{100 * progress.pages // progress.total}% {progress.pages / progress.seconds:.1f} p/s "
                f"items {count(progress.items)}" + (f" failed {count(progress.failed)}" if progress.failed else "")
            )

    def clear(self) -> None:
        self._line.clear()


def _report(session: Session, place: Place, job: str, progress: Progress, written: int | None) -> None:
    found = load_job(place.store, job)
    now, before = job_quality(place.store, found)
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
    for line in quality_lines(now, before, shutil.get_terminal_size().columns):
        session.say(line)
    if written is not None:
        session.say(f"{plural(written, 'item')} written")
    session.say(f"look at them: {session.command('items', job)}")


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
    }


def _replaced(progress: Progress) -> Iterator[str]:
    if progress.replaced is not None and (old := progress.replaced.old):
        yield f"  {_of_types(old)} replaced by {_of_types(progress.replaced.new) or 'none'}"


def _of_types(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{plural(n, 'item')} of {safe(type)}" for type, n in sorted(counts.items()))


def _shortfalls(session: Session, job: Job, progress: Progress) -> Iterator[str]:
    if job.state not in ENDED:
        yield "  the job has not ended: what it fetches from now on has no items until you extract again"
    if progress.left_out:
        yield f"  left out: {plural(progress.left_out, 'page')} whose bodies are not in the archive"
    if progress.rejects:
        yield f"  why rejected: {session.command('items', job.id, '--rejected')}"


def _fault_lines(progress: Progress) -> Iterator[str]:
    shown = progress.faults.most_common(FAULTS_SHOWN)
    for reason, n in shown:
        yield f"  failed on {plural(n, 'page')}: {safe(reason)}"
    if more := progress.failed - sum(n for _, n in shown):
        yield f"  failed on {plural(more, 'more page')} for other reasons"
