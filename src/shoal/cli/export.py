"""`shoal export`: a job's data as a file, also of a job that still runs."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session


@click.command(cls=Command)
@click.argument("job")
@click.option("-o", "--output", required=True, metavar="FILE", help=".jsonl, .csv or .parquet; - for stdout.")
@click.option("--pages", "what", flag_value="pages", default="pages", help="Pages with their content. The default.")
@click.option("--inputs", "what", flag_value="inputs", help="One row per URL given, in order, with what became of it.")
def export(session: Session, job: str, output: str, what: str) -> None:
    """Write the data of JOB (an id, the beginning of one, or "last") to a file.

    The ending of FILE says the format. Of a job that still runs, what is there so far is written.

    \b
    shoal export last -o pages.jsonl
    shoal export last --inputs -o report.csv
    shoal export last -o - | jq .title
    """
    from shoal.cli.words import plural
    from shoal.store.columns import INPUT, PAGE_WITH_CONTENT
    from shoal.store.export import STDOUT
    from shoal.store.export import export as write
    from shoal.store.inputs import input_report
    from shoal.store.jobs import find_job
    from shoal.store.records import list_pages_with_content

    with session.open_home() as home:
        found = find_job(home.store, job)
        if what == "inputs":
            written = write(input_report(home.store, found.id), output, INPUT)
        else:
            written = write(list_pages_with_content(home.store, found.id, {}), output, PAGE_WITH_CONTENT)
    if session.json and output != STDOUT:
        session.data({"job": found.id, "output": output, "records": written})
    elif not session.quiet:
        session.say(f"wrote {plural(written, 'record')} to {'stdout' if output == STDOUT else output}")
