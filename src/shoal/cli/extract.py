"""`shoal extract`: new items out of the archive of a job, without fetching anything."""

from __future__ import annotations

import shutil
import time

import click

from shoal.cli.live import Line
from shoal.cli.output import write_data
from shoal.cli.quality import quality_lines, quality_records
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.cli.words import count, plural
from shoal.errors import UsageError
from shoal.jobs.extraction import Extraction, Progress
from shoal.jobs.place import Place
from shoal.jobs.quality import job_quality
from shoal.spiders.loading import load_spider
from shoal.spiders.spider import Spider
from shoal.store.jobs import load_job

FAULTS_SHOWN = 5


@click.command(cls=Command)
@click.argument("job")
@click.option("--rules", metavar="FILE", help="Rules in YAML or JSON.")
@click.option("--spider", metavar="SPIDER", help="shop.py, shop.py:name or package.module:name.")
@click.option("-o", "--output", metavar="FILE", help="Also write the items: .jsonl, .csv or .parquet.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="Default: one for each core.")
@click.option(
    "--max-failure-rate",
    type=click.FloatRange(0, 1),
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

    Nothing is fetched. The job's items are replaced at once when all pages have been read, and stay as they are if
    that fails or is interrupted.

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
    now, before = job_quality(place.store, load_job(place.store, job))
    if session.json:
        for record in quality_records(now, before):
            session.data(record)
        session.data(
            {
                "type": "summary",
                "job": job,
                "pages": progress.pages,
                "items": progress.items,
                "rejected": progress.rejects,
                "failed": progress.failed,
                "left_out": progress.left_out,
                "seconds": round(progress.seconds, 3),
            }
        )
        return
    if session.quiet:
        return
    session.say(
        f"{plural(progress.pages, 'page')} read in {progress.seconds:.1f} s: {plural(progress.items, 'item')}, "
        f"{plural(progress.rejects, 'reject')}"
    )
    if progress.left_out:
        session.say(f"  left out: {plural(progress.left_out, 'page')} whose bodies are not in the archive")
    for reason, n in progress.faults.most_common(FAULTS_SHOWN):
        session.say(f"  failed on {plural(n, 'page')}: {safe(reason)}")
    for line in quality_lines(now, before, shutil.get_terminal_size().columns):
        session.say(line)
    if written is not None:
        session.say(f"{plural(written, 'item')} written")
    session.say(session.command("items", job))
