"""`shoal export`: a job's data as a file, also of a job that still runs."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session
from shoal.cli.words import plural, size
from shoal.jobs.data import default_data
from shoal.store.archive.spool import SEALED
from shoal.store.export import STDOUT


@click.command(cls=Command)
@click.argument("job")
@click.option("-o", "--output", required=True, metavar="FILE", help=".jsonl, .csv, .parquet or .warc.gz; - for stdout.")
@click.option("--items", "what", flag_value="items", help="Items. The default of a job with a spider or rules.")
@click.option("--pages", "what", flag_value="pages", help="Pages with their content. The default of other jobs.")
@click.option("--inputs", "what", flag_value="inputs", help="One row per URL given, in order, with what became of it.")
@click.option("--warc", "what", flag_value="warc", help="The archive: every request and answer, as one .warc.gz.")
def export(session: Session, job: str, output: str, what: str | None) -> None:
    """Write the data of JOB (an id, the beginning of one, or "last") to a file.

    The ending of FILE says the format. Of a job that still runs, what is there so far is written.

    \b
    shoal export last -o books.parquet
    shoal export last --pages -o pages.jsonl
    shoal export last --inputs -o report.csv
    shoal export last --warc -o books.warc.gz
    shoal export last -o - | jq .title
    """
    if what is None and output.endswith(SEALED):
        what = "warc"
    with session.open_jobs() as reached:
        found = reached.find(job)
        if what == "warc":
            written: int | None = found.write_archive(output)
        else:
            written = found.write(what or default_data(found.job), output)
    if session.json and output != STDOUT:
        session.data({"job": found.job.id, "output": output, "bytes" if what == "warc" else "records": written})
    elif not session.quiet:
        session.say(f"wrote {_extent(what, written)} to {'stdout' if output == STDOUT else output}")


def _extent(what: str | None, written: int | None) -> str:
    if written is None:
        return "the data"
    return size(written) if what == "warc" else plural(written, "record")
