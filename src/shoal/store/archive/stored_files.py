"""Files of items, each content once: `files/97/977cfb….jpg` in the archive, beside the folders of the jobs.

The table `stored_files` says which jobs use a file. A job is noted there before its file is looked for in the archive.
A removal holds the locks of its files while it looks for other users and removes. So it either sees a new user, or the
new user finds no file and stores it again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shoal.store.archive.archive_folders import Archive, stored_path
from shoal.store.archive.atomic_move import sync_folder, unwritable
from shoal.store.archive.spool_listing import files_in
from shoal.store.archive.stored_segments import FILES
from shoal.store.database.plain_sql import among, list_value, run
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

_UPSERT = Upsert("stored_files", replace)
_LOCKS = "files"
"""In the place of a job, when locks are taken."""
_FREED_AT_ONCE = 200
_LOOKED_UP_AT_ONCE = 500
_UPLOADS_AT_ONCE = 8
_PART = ".part"
_replacing = threading.Lock()
"""One thread of a process writes to its spool, and another removes what is in a bucket."""


class FreedFiles(NamedTuple):
    files: int
    bytes: int


def note_use(store: Store, job: str, files: Mapping[str, int]) -> None:
    """The job uses the files with these paths, which have so many bytes."""

    def write(db: Transaction) -> None:
        _lock(store, db, files)
        _UPSERT.write(db, [(job, path, files[path]) for path in sorted(files)])

    store.change_plain(write)


def spool_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files to the spool of a process. They are on the disk when this returns. Raises Unavailable."""
    spool = folder / FILES
    try:
        if not spool.exists():
            spool.mkdir(parents=True, exist_ok=True)
            sync_folder(folder)
        for path, body in files.items():
            _write(spool / Path(path).name, body)
        sync_folder(spool)
    except OSError as error:
        raise unwritable(spool, error) from error


def spooled_files(folder: Path) -> Iterator[Path]:
    """The files in the spool of a process. Raises Unavailable."""
    return (file for file in files_in(folder / FILES) if not file.name.endswith(_PART))


def store_files(store: Store, archive: Archive, folder: Path) -> None:
    """Moves the files of a process's spool to the archive; repeatable after any crash. Raises Unavailable."""
    stamps = {file: _stamp(file) for file in spooled_files(folder)}
    files = list(stamps)
    if archive.stored.is_remote:
        with ThreadPoolExecutor(_UPLOADS_AT_ONCE, thread_name_prefix="upload") as threads:
            list(threads.map(archive.store_file, files))
    else:
        for file in files:
            archive.store_file(file)
    # Before unused files are removed: from then on, a file of the same name here is the only copy for another job.
    for file, stamp in stamps.items():
        # What replaced it meanwhile may be the only copy: the archive's was removed with a job, and another job spooled
        # the file again.
        with _replacing, suppress(FileNotFoundError):
            if _stamp(file) == stamp:
                file.unlink()
    # A job may have been deleted while its files were on their way.
    _free_unused(store, archive, [stored_path(file.name) for file in files])


def free_files(store: Store, archive: Archive, job: str) -> FreedFiles:
    """Removes the files that no other job uses, in small steps. Raises Unavailable."""
    freed = FreedFiles(0, 0)
    while sizes := _files_of(store, job):

        def free(db: Transaction, sizes: dict[str, int] = sizes) -> Collection[str]:
            _lock(store, db, sizes)
            these = f"DELETE FROM stored_files WHERE job = :job AND {among(db, 'path', 'paths')}"
            run(db, these, {"job": job, "paths": list_value(db, list(sizes))})
            return _remove_unused(db, archive, sizes)

        removed = store.change_plain(free)
        freed = FreedFiles(freed.files + len(removed), freed.bytes + sum(sizes[path] for path in removed))
    return freed


def _files_of(store: Store, job: str) -> dict[str, int]:
    some = f"SELECT path, bytes FROM stored_files WHERE job = :job LIMIT {_FREED_AT_ONCE}"
    with store.read_plain() as db:
        return dict(map(tuple, run(db, some, {"job": job})))


def _free_unused(store: Store, archive: Archive, paths: list[str]) -> None:
    for start in range(0, len(paths), _LOOKED_UP_AT_ONCE):
        some = paths[start : start + _LOOKED_UP_AT_ONCE]
        with store.read_plain() as db:
            unused = _unused(db, some)
        if unused:

            def free(db: Transaction, unused: Collection[str] = unused) -> Collection[str]:
                _lock(store, db, unused)
                return _remove_unused(db, archive, unused)

            store.change_plain(free)


def _remove_unused(db: Transaction, archive: Archive, paths: Collection[str]) -> Collection[str]:
    """Within the transaction that holds their locks."""
    unused = _unused(db, paths)
    if unused:
        archive.stored.remove_files(unused)
    return unused


def _unused(db: Transaction, paths: Collection[str]) -> list[str]:
    known = f"SELECT path FROM stored_files WHERE {among(db, 'path', 'paths')}"
    return sorted(set(paths) - {path for (path,) in run(db, known, {"paths": list_value(db, list(paths))})})


def _lock(store: Store, db: Transaction, paths: Iterable[str]) -> None:
    # By their folders: there are 256, and PostgreSQL's table of locks has room for some thousands.
    store.lock_requests(db, _LOCKS, {int(path[:2], 16) for path in paths})


def _stamp(file: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        status = file.stat()
        return status.st_ino, status.st_mtime_ns
    return None


def _write(file: Path, body: bytes) -> None:
    part = file.with_name(file.name + _PART)
    try:
        with part.open("wb") as out:
            out.write(body)
            out.flush()
            os.fsync(out.fileno())
        with _replacing:
            part.replace(file)
    finally:
        part.unlink(missing_ok=True)
