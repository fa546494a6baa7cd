"""Moves a process's spools to the archive. The process does so itself; if it has died, another one does.

Every process has a folder for its spools with a lock in it. The lock ends with the process, however that ends. So a
process that gets the lock may take the files that are left, and no two processes can.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from shoal.errors import Unavailable
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.atomic_move import unwritable
from shoal.store.archive.segment_table import drop_empty, mark_stored, note_stored, open_segments
from shoal.store.archive.spool import SEALED, SPOOL, Spool
from shoal.store.archive.spool_listing import all_segments_in, folders_in, segments_in
from shoal.store.archive.stored_files import spooled_files, store_files
from shoal.store.archive.stored_segments import FILES
from shoal.store.store import Store

_LOCK = "lock"


def adopt(store: Store, archive: Archive) -> list[str]:
    """Archives the spools that dead processes of this machine left, and returns the names of these processes.

    Any number of processes may call this at once. Raises Unavailable.
    """
    return [folder.name for folder in folders_in(archive.spools) if _adopted(store, archive, folder)]


def _adopted(store: Store, archive: Archive, folder: Path) -> bool:
    lock = lock_folder(folder)
    if lock is None:
        return False
    try:
        send(store, archive, folder)
        remove_if_empty(folder)
    finally:
        os.close(lock)
    return True


def send(store: Store, archive: Archive, folder: Path, writing: Collection[str] = ()) -> None:
    """Seals and archives every segment in a process's folder except those being written. Raises Unavailable."""
    try:
        seal_left(folder, writing)
        store_sealed(store, archive, folder)
    except Unavailable:
        # Segments sent before the error are recorded all the same. If that fails too, the first error is raised.
        with suppress(Unavailable):
            _note(store, archive, folder.name, writing)
        raise
    _note(store, archive, folder.name, writing)


def seal_left(folder: Path, writing: Collection[str]) -> None:
    """Seals the segments in a process's folder that nobody writes any more. Raises Unavailable."""
    for path in segments_in(folder, SPOOL):
        if _segment(path) not in writing:
            Spool(path).seal()


def store_sealed(store: Store, archive: Archive, folder: Path) -> None:
    """Archives the sealed segments of a process's folder, and its files. Raises Unavailable."""
    sealed = list(segments_in(folder, SEALED))
    # The files first: whoever finds a segment in the archive finds the files that it refers to.
    store_files(store, archive, folder)
    for path in sealed:
        with suppress(FileNotFoundError):
            size = path.stat().st_size
            archive.take(path)
            # Before the local files go: a reader on this machine must find the segment in one place or the other.
            mark_stored(store, _segment(path), size)
            archive.release(path)


def _note(store: Store, archive: Archive, process: str, writing: Collection[str]) -> None:
    # By what the archive has, not by what was just sent: an earlier call may have been killed before it recorded it.
    sent = [segment for segment in open_segments(store, process=process) if segment.name not in writing]
    if sent:
        drop_empty(store, note_stored(store, archive, sent))


def bytes_behind(folder: Path, writing: Collection[str]) -> int:
    """The size of the files in a process's folder, without the segments being written."""
    files = [file for file in _segments(folder) if _segment(file) not in writing]
    return sum(file.stat().st_size for file in (*files, *spooled_files(folder)))


def remove_if_empty(folder: Path) -> None:
    """Removes a process's folder unless it still has something for the archive. Only for the holder of its lock: nobody
    else adds anything. Raises Unavailable."""
    if not any(_segments(folder)) and not any(spooled_files(folder)):
        shutil.rmtree(folder, ignore_errors=True)


def _segments(folder: Path) -> Iterator[Path]:
    return chain.from_iterable(all_segments_in(job) for job in folders_in(folder) if job.name != FILES)


def make_folder(folder: Path) -> int:
    """Makes the folder of a process and returns its lock, as a file descriptor. Raises Unavailable."""
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        lock = lock_folder(folder)
        if lock is not None:
            return lock


def lock_folder(folder: Path) -> int | None:
    """None: another process holds it, or has just removed it."""
    path = folder / _LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder may have removed the folder before we got the lock.
        if os.path.samestat(os.fstat(lock), path.stat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def _segment(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"
