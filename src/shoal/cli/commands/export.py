"""`shoal export`: writes a job's data to a file, also while the job runs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import click

from shoal.cli.backends import JobHandle
from shoal.cli.humanize import plural, size
from shoal.cli.output_file import archive_file, output_file, shown_path
from shoal.cli.output_options import PROVENANCE, OutputFlags, output_options
from shoal.cli.session import Command, Session
from shoal.errors import UsageError
from shoal.jobs.data_view import default_data
from shoal.object_store.object_url import is_object_url
from shoal.object_store.open_store import open_store
from shoal.store.archive.spool import SEALED
from shoal.store.results.export import STDOUT


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=".jsonl, .csv, .json, .parquet, .jsonl.gz, .csv.zst … or .warc.gz, also in a bucket (s3://, gs://, az://); "
    "DIR/ for a dataset; - for stdout.",
)
@output_options
@PROVENANCE
@click.option("--items", is_flag=True, help="Items. Default for a job with a spider or rules.")
@click.option("--pages", is_flag=True, help="Pages with their content. Default for other jobs.")
@click.option("--inputs", is_flag=True, help="One row per input URL, in order, with its outcome.")
@click.option("--warc", is_flag=True, help="The archive: every request and response, as one .warc.gz.")
@click.option(
    "--mirror",
    metavar="DIR",
    help="Write the archived pages and files as a folder that a browser shows offline, links rewritten.",
)
@click.option(
    "--files",
    metavar="DIR",
    help="Write the files that items refer to, without duplicates, to a folder or a bucket (s3://, gs://, az://).",
)
@click.option(
    "--assets", is_flag=True, help="With --mirror: fail if the job did not keep images, stylesheets, scripts and fonts."
)
def export(
    session: Session,
    job: str,
    output: str | None,
    overwrite: bool,
    append: bool,
    fields: str | None,
    provenance: bool,
    partition: str | None,
    mirror: str | None,
    files: str | None,
    assets: bool,
    **kinds: bool,
) -> None:
    """Write the data of JOB (id, id prefix, name or "last") to a file.

    The extension of FILE sets the format. For a job that still runs, it writes the data stored so far.

    \b
    shoal export last -o books.parquet
    shoal export last --pages -o pages.jsonl
    shoal export last --inputs -o report.csv
    shoal export last --warc -o books.warc.gz
    shoal export last -o - | jq .title
    shoal export last --mirror site --assets
    shoal export last --files images
    """
    what = _only(kinds)
    flags = OutputFlags(overwrite, append, fields, provenance, partition)
    if mirror is not None:
        if output is not None or what is not None or flags != OutputFlags(overwrite):
            raise UsageError("--mirror DIR goes with --assets and --overwrite only: leave the other options out")
        _mirror(session, job, Path(mirror), overwrite, assets)
        return
    if assets:
        raise UsageError("--assets needs --mirror DIR")
    if files is not None:
        if output is not None or what is not None or flags != OutputFlags():
            raise UsageError("--files DIR stands alone: leave the other options out")
        _files(session, job, files)
        return
    if output is None:
        raise UsageError("give -o FILE, --mirror DIR or --files DIR")
    if what is None and output.endswith(SEALED):
        what = "warc"
    with session.open_jobs() as backend:
        found = backend.find(job)
        path, written = _write(found, what, output, flags)
    if session.json and output != STDOUT:
        session.data({"job": found.job.id, "output": path, "bytes" if what == "warc" else "records": written})
    elif not session.quiet:
        session.say(f"wrote {_extent(what, written)} to {'stdout' if output == STDOUT else path}")


def _write(found: JobHandle, what: str | None, output: str, flags: OutputFlags) -> tuple[str, int | None]:
    """Returns the path for people, and the number of records, or the bytes of an archive."""
    if what == "warc":
        path = archive_file(output, found.job.id, flags)
        return path, found.write_archive(path)
    file = output_file(output, found.job.id, flags)
    return shown_path(file.path), found.write(what or default_data(found.job), file)


def _only(kinds: dict[str, bool]) -> str | None:
    """Raises UsageError if there are two: a file holds one kind of record."""
    chosen = [kind for kind, is_chosen in kinds.items() if is_chosen]
    if len(chosen) > 1:
        flags = " and ".join(f"--{kind}" for kind in chosen)
        raise UsageError(f"{flags} cannot be combined: export one after the other, to a file each")
    return chosen[0] if chosen else None


def _mirror(session: Session, job: str, folder: Path, overwrite: bool, assets: bool) -> None:
    with session.open_jobs() as backend:
        found = backend.find(job)
        if assets and not found.job.spec.assets:
            raise UsageError(
                f"job {found.job.id} was crawled without --assets, so its archive lacks the images, stylesheets, "
                "scripts and fonts: crawl again with --assets, or leave it out here: then pages show those of the site"
            )
        mirrored = found.write_mirror(folder, overwrite)
    if session.json:
        about = {"files": mirrored.files, "left_out": mirrored.left_out, "first": mirrored.first}
        session.data({"job": found.job.id, "output": str(folder), **about})
    elif not session.quiet:
        session.say(f"wrote {plural(mirrored.files, 'file')} to {folder}; open {folder / mirrored.first}")
        if mirrored.left_out:
            session.say(f"left out {plural(mirrored.left_out, 'page')} that the archive does not have")


def _files(session: Session, job: str, place: str) -> None:
    objects = open_store(place if is_object_url(place) else f"file://{quote(str(Path(place).absolute()))}")
    with session.open_jobs() as backend:
        found = backend.find(job)
        done = found.write_files(objects)
    if session.json:
        session.data({"job": found.job.id, "output": place, **done._asdict()})
    elif not session.quiet:
        already = f"; {plural(done.already, 'file')} already there" if done.already else ""
        session.say(f"wrote {plural(done.written, 'file')} ({size(done.bytes)}) to {place}{already}")


def _extent(what: str | None, written: int | None) -> str:
    if written is None:
        return "the data"
    return size(written) if what == "warc" else plural(written, "record")
