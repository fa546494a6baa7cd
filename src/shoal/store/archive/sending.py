"""A process's spools on their way to the archive, sent by the process itself or, if it is no more, by another.

Every process of a machine has a folder for its spools and a lock in it, which ends with the process however that ends.
So whoever gets the lock may take what is left there, and no two can.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from shoal.errors import Unavailable
from shoal.store.archive.archive import Archive
from shoal.store.archive.moving import unwritable
from shoal.store.archive.segments import drop_empty, note_stored, open_segments
from shoal.store.archive.spool import SEALED, SPOOL, Spool
from shoal.store.store import Store

_LOCK = "lock"


def adopt(store: Store, archive: Archive) -> list[str]:
    """Stores what processes of this machine left in their spools when they died, and says which processes these were.

    Any number may do so at once. Raises Unavailable.
    """
    return [folder.name for folder in sorted(archive.spools.glob("*/")) if _adopted(store, archive, folder)]


def _adopted(store: Store, archive: Archive, folder: Path) -> bool:
    lock = lock_folder(folder)
    if lock is None:
        return False
    try:
        send(store, archive, folder)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
    return True


def send(store: Store, archive: Archive, folder: Path, writing: Collection[str] = ()) -> None:
    """Seals and stores every segment of a process's folder but those being written. Raises Unavailable."""
    try:
        _hand_over(archive, folder, writing)
    except Unavailable:
        # What went before is told all the same; if even that fails, the first error is the one to be told.
        with suppress(Unavailable):
            _note(store, archive, folder.name, writing)
        raise
    _note(store, archive, folder.name, writing)


def _hand_over(archive: Archive, folder: Path, writing: Collection[str]) -> None:
    for path in sorted(folder.glob(f"*/*{SPOOL}")):
        if _segment(path) not in writing:
            Spool(path).seal()
    for path in sorted(folder.glob(f"*/*{SEALED}")):
        archive.take(path)


def _note(store: Store, archive: Archive, process: str, writing: Collection[str]) -> None:
    # By what the archive has, not by what was sent just now: an earlier turn may have been killed before it told.
    sent = [segment for segment in open_segments(store, process=process) if segment.name not in writing]
    if sent:
        drop_empty(store, note_stored(store, archive, sent))


def bytes_behind(folder: Path, writing: Collection[str]) -> int:
    """What is in a process's folder beside the segments being written."""
    files = [file for file in folder.glob(f"*/*{SEALED}*") if _segment(file) not in writing]
    return sum(file.stat().st_size for file in files)


def make_folder(folder: Path) -> int:
    """Makes the folder of a process and gives its lock, as a file descriptor. Raises Unavailable."""
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
        # Whoever held it may have removed the folder before we got it.
        if os.path.samestat(os.fstat(lock), path.stat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def _segment(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"
