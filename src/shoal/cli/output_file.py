"""Where a command writes data, and the checks before anything else happens.

A file that exists is refused unless the user says what becomes of it.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from shoal.cli.output_options import OutputFlags
from shoal.errors import UsageError
from shoal.file_lock import try_lock
from shoal.jobs.data_view import DataView
from shoal.object_store.contract import ObjectStore
from shoal.object_store.object_url import ObjectUrl, is_bucket_url
from shoal.object_store.open_store import open_store
from shoal.store.archive.spool import SEALED
from shoal.store.results.columns import Columns
from shoal.store.results.export import STDOUT, check_pyarrow, check_writable
from shoal.store.results.row_formats import format_of
from shoal.wording import did_you_mean

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class OutputFile(NamedTuple):
    path: str
    """Absolute, or the URL of an object in a bucket, or - for stdout. A dataset ends with a slash."""
    view: DataView
    kept_bytes: int = 0
    """The size of a file that the data is added to."""
    partition: str | None = None
    """The field by which a dataset is divided; None: the day of the fetch."""
    overwrite: bool = False

    @property
    def is_dataset(self) -> bool:
        return self.path.endswith("/")

    @property
    def is_remote(self) -> bool:
        return is_bucket_url(self.path)

    @property
    def streams(self) -> bool:
        """Whether rows can be added to it one by one."""
        if self.is_dataset or self.is_remote:
            return False
        return self.path == STDOUT or format_of(Path(self.path)).streams

    def dataset_store(self) -> ObjectStore:
        """Where the parts of the dataset are."""
        return open_store(self.path if self.is_remote else f"file://{quote(self.path)}")


def output_file(output: str, job_id: str, flags: OutputFlags) -> OutputFile:
    """Raises UsageError for a file that cannot be written, and for one that exists; Unavailable for a bucket that does
    not answer."""
    if flags.overwrite and flags.append:
        raise UsageError("--overwrite and --append contradict each other: give one of them")
    view = DataView(_names(flags.fields), flags.provenance)
    path = output if output == STDOUT else local_path(_filled(output, job_id))
    if path.endswith("/"):
        return _dataset(path, view, flags)
    if flags.partition:
        raise UsageError(f"--partition divides a dataset: end the name with a slash, -o {path}/")
    if path == STDOUT:
        return OutputFile(STDOUT, view)
    if is_bucket_url(path):
        _check_object(path, flags)
        return OutputFile(path, view, overwrite=flags.overwrite)
    check_writable(path)
    check_not_in_use(path)
    file = Path(path).absolute()
    size = file.stat().st_size if file.exists() else 0
    if flags.append and not format_of(file).appends:
        raise UsageError(f"--append: {path} cannot be added to; use .jsonl or .csv, or --overwrite")
    if file.exists() and not flags.overwrite and not flags.append:
        raise UsageError(f"{path} exists: give --overwrite, --append or another name")
    return OutputFile(str(file), view, size if flags.append else 0)


def local_path(output: str) -> str:
    """The path of a file:// URL; any other text as it is."""
    return ObjectUrl.parse(output).key if output.startswith("file://") else output


def _dataset(path: str, view: DataView, flags: OutputFlags) -> OutputFile:
    if flags.append:
        raise UsageError(f"--append: {path} is a dataset, which keeps the parts of other jobs anyway: leave it out")
    check_pyarrow(path)
    if not is_bucket_url(path):
        if Path(path).exists() and not Path(path).is_dir():
            raise UsageError(f"{path} is no directory: name one for the dataset, or a file without the slash")
        path = f"{Path(path).absolute()}/"
    file = OutputFile(path, view, partition=flags.partition, overwrite=flags.overwrite)
    file.dataset_store().check()
    return file


def _check_object(path: str, flags: OutputFlags, format: Callable[[Path], object] = format_of) -> None:
    url, name = ObjectUrl.parse(path).split()
    if not name:
        raise UsageError(f"{path}: name an object, as in {path}/items.jsonl, or end it with a slash for a dataset")
    format(Path(name))
    if flags.append:
        raise UsageError(f"--append: nothing can be added to {path}, an object in a bucket: give another name")
    if name.endswith(".parquet"):
        check_pyarrow(path)
    objects = open_store(url)
    objects.check()
    if not flags.overwrite and objects.size(name) is not None:
        raise UsageError(f"{path} exists: give --overwrite or another name")


def check_not_in_use(path: str) -> None:
    """Raises UsageError while a crawl writes the file, whose rows would be lost."""
    with suppress(FileNotFoundError), Path(path).open("r+b") as file:
        if not try_lock(file):
            raise UsageError(f"another crawl writes {shown_path(path)}: wait for it, or give another name")


def archive_file(output: str, job_id: str, flags: OutputFlags) -> str:
    """The path of an archive. Raises UsageError for one that exists, and for flags that are about rows."""
    if flags != OutputFlags(flags.overwrite):
        raise UsageError("an archive goes with --overwrite only: leave the other options of -o out")
    path = output if output == STDOUT else local_path(_filled(output, job_id))
    if is_bucket_url(path):
        _check_object(path, flags, check_archive_name)
        return path
    if path != STDOUT and Path(path).exists() and not flags.overwrite:
        raise UsageError(f"{path} exists: give --overwrite or another name")
    return path


def check_archive_name(path: Path) -> None:
    if not path.name.endswith(SEALED):
        raise UsageError(f"{path}: the file name of an archive must end with {SEALED}")


def check_columns(output: OutputFile, what: str, columns: Columns, are_all_known: bool) -> None:
    """Raises UsageError for fields that the data does not have, and for a CSV file with other columns.

    `columns` are known before the crawl; further ones may follow unless `are_all_known`.
    """
    output.view.check(what, columns, are_all_known)
    if output.partition is not None and are_all_known and output.partition not in columns:
        near = did_you_mean(output.partition, columns)
        raise UsageError(f"--partition {output.partition}: the data has no such field{near}")
    if not output.kept_bytes or format_of(Path(output.path)) != ("csv", None):
        return
    with Path(output.path).open(newline="", encoding="utf-8", errors="replace") as file:
        there = next(csv.reader(file), [])
    if not (are_all_known or output.view.fields):
        raise UsageError(f"--append to CSV needs the columns in advance: name them, --fields {','.join(there)}")
    ours = list(output.view.columns(columns))
    if there != ours:
        raise UsageError(
            f"--append: {shown_path(output.path)} has the columns {','.join(there)}, and the data has "
            f"{','.join(ours)}: choose them with --fields, or another file"
        )


def shown_path(path: str) -> str:
    """Relative, if it is below the current directory."""
    here = Path.cwd()
    if path.endswith("/") and not is_bucket_url(path):
        return f"{shown_path(path.rstrip('/'))}/"
    return os.path.relpath(path, here) if Path(path).is_relative_to(here) else path


def _names(fields: str | None) -> tuple[str, ...]:
    if fields is None:
        return ()
    names = tuple(name.strip() for name in fields.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(f"--fields {fields}: give each name once, with commas between them")
    return names


def _filled(output: str, job_id: str) -> str:
    values = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "job": job_id}
    for name in _PLACEHOLDER.findall(output):
        if name not in values:
            raise UsageError(f"{output}: unknown {{{name}}}; a name may have {{date}} and {{job}}")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], output)
