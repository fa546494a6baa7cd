"""`shoal report`: writes a report about a job, with charts, as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.session import Command, Session
from shoal.errors import MissingExtra, UsageError
from shoal.store.results.export import STDOUT

_ENDINGS = (".html", ".htm")


@click.command(cls=Command)
@click.argument("job")
@click.option("-o", "--output", metavar="FILE", required=True, help="An .html file; - for stdout.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
def report(session: Session, job: str, output: str, overwrite: bool) -> None:
    """Write a report about JOB (id, id prefix, name or "last"): one HTML file to read or send.

    It shows what was crawled: status codes, depth and size of pages, the slowest hosts, errors with what to do about
    them, the quality of the data, and which hosts and pages led to which. The file has no script, loads nothing, and
    holds no password of the job.

    \b
    shoal report last -o report.html
    shoal report books -o books.html --overwrite
    """
    path = None if output == STDOUT else _checked(Path(output), overwrite)
    try:
        from shoal.dashboard.report import ReportData, report_html
    except ImportError as error:
        raise MissingExtra("a report needs flask, which is not installed", "dashboard") from error
    with session.open_jobs() as backend:
        found = backend.find(job)
        html = report_html(
            ReportData(found.overview(), found.series(), found.shape(), found.quality(), found.dead_groups())
        )
    if path is None:
        session.show(html)
        return
    path.write_text(html, encoding="utf-8")
    if session.json:
        session.data({"job": found.job.id, "output": str(path), "bytes": path.stat().st_size})
    elif not session.quiet:
        session.say(f"wrote the report to {path}")


def _checked(path: Path, overwrite: bool) -> Path:
    if path.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{path}: a report is an HTML file: give it a name that ends with .html")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a folder: create it, or choose another")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists: give --overwrite or another name")
    return path
