"""Moves a file to a folder that may be on another disk. Under its new name it is complete or does not exist."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from shoal.errors import NO_ROOM, DiskFull, Unavailable

_AT_ONCE = 1 << 20


def move(source: Path, target: Path) -> None:
    """Repeatable after any crash. If it raises Unavailable, the source still exists."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            source.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(source, target)
        # Before the source is removed: a power cut must not lose both.
        sync_folder(target.parent)
        source.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(target, error) from error


def _copy(source: Path, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    try:
        with source.open("rb") as content, part.open("wb") as out:
            shutil.copyfileobj(content, out, _AT_ONCE)
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def unwritable(path: Path, error: OSError) -> Unavailable:
    if error.errno in NO_ROOM:
        return DiskFull(path)
    return Unavailable(f"cannot write the archive: {path}: {error.strerror}; the crawl continues when that is fixed")
