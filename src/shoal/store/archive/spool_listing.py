"""Lists the spools of a machine while other processes and threads remove files and folders from them.

What is gone by the time that it is listed is left out. A folder that is there and cannot be listed raises Unavailable:
it must not look empty, because an empty folder is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import Unavailable
from shoal.store.archive.spool import SEALED
from shoal.store.archive.stored_segments import FILES


def folders_in(folder: Path) -> list[Path]:
    """In the order of their names. Raises Unavailable."""
    return [path for path, is_folder in _entries(folder) if is_folder]


def files_in(folder: Path) -> list[Path]:
    """In the order of their names. Raises Unavailable."""
    return [path for path, is_folder in _entries(folder) if not is_folder]


def segments_in(folder: Path, ending: str) -> Iterator[Path]:
    """The segments of a process's folder that have this ending, job by job. Raises Unavailable."""
    for job in folders_in(folder):
        if job.name != FILES:
            yield from (file for file in files_in(job) if file.name.endswith(ending))


def all_segments_in(job: Path) -> list[Path]:
    """The segments of one job in a process's folder, sealed and open. Raises Unavailable."""
    return [file for file in files_in(job) if SEALED in file.name]


def _entries(folder: Path) -> list[tuple[Path, bool]]:
    # Not Path.glob: before Python 3.13 it fails if a folder that it saw is removed, and since then it takes a folder
    # that it cannot read for an empty one.
    try:
        with os.scandir(folder) as entries:
            return sorted((folder / entry.name, entry.is_dir()) for entry in entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unavailable(f"{folder} cannot be read: {error.strerror}") from error
