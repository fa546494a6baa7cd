"""The open segment: appended to in groups, each on the disk when `append` returns, and sealed in the end.

Its index is written along, unsynced, so that after a kill only what stands behind the last indexed record has to be
read to find the end of the whole records. The rest is cut off: no row refers to it, as rows are saved after `append`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import IO, NamedTuple

from shoal.store.archive import index, warc
from shoal.store.archive.member import unpacked, whole_members
from shoal.store.archive.moving import sync_folder, unwritable

SEALED = ".warc.gz"
SPOOL = ".warc.gz.open"
INDEX = ".cdxj"
OPEN_INDEX = ".cdxj.open"


class Survey(NamedTuple):
    lines: list[bytes]
    """Of the index, one for every capture that is whole."""
    end: int
    """Of the last whole record."""


def survey(file: IO[bytes], sidecar: Path) -> Survey:
    """What of an open segment can be relied on."""
    lines, end = _known(file, sidecar)
    file.seek(end)
    filename = _sealed_name(Path(file.name))
    start = end
    for behind, content in whole_members(file.read()):
        record = warc.read(content)
        if record is None:
            break
        found = index.entry_of(record)
        if found is not None:
            lines.append(found.line(filename, end, start + behind - end))
        end = start + behind
    return Survey(lines, end)


def _known(file: IO[bytes], sidecar: Path) -> tuple[list[bytes], int]:
    """The lines of the index, if the record of the last one is there, and where that ends."""
    try:
        text = sidecar.read_bytes()
    except FileNotFoundError:
        text = b""
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"\n") or index.place_of(line) is None:
            break
        lines.append(line)
    place = index.place_of(lines[-1]) if lines else None
    if place is not None:
        offset, end = place
        file.seek(offset)
        content = unpacked(file.read(end - offset))
        if content is not None and warc.read(content) is not None:
            return lines, end
    return [], 0


def _sealed_name(path: Path) -> str:
    return path.name.removesuffix(".open")


class Spool:
    def __init__(self, path: Path) -> None:
        """Makes it, or cuts what is there after its last whole record."""
        name = path.name.removesuffix(SPOOL)
        self._path, self._sealed, self._index_path = path, path.with_name(name + SEALED), path.with_name(name + INDEX)
        self._sidecar_path = path.with_name(name + OPEN_INDEX)
        self.filename = self._sealed.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            self._file = FileIO(path, "a+")
            self._sidecar = FileIO(self._sidecar_path, "a+")
            if is_new:
                sync_folder(path.parent)
            self._recover()
        except OSError as error:
            raise unwritable(self._path, error) from error

    def _recover(self) -> None:
        found = survey(self._file, self._sidecar_path)
        self.size = found.end
        text = b"".join(found.lines)
        if self._sidecar.seek(0, os.SEEK_END) != len(text):
            self._sidecar.truncate(0)
            _write_all(self._sidecar, text)
        self._indexed_bytes = len(text)
        self._file.truncate(self.size)

    def append(self, records: bytes, lines: Sequence[bytes]) -> None:
        """Whole or not at all; raises Unavailable."""
        text = b"".join(lines)
        try:
            _write_all(self._file, records)
            os.fsync(self._file.fileno())
            # Behind the records: a line must not tell of what a power cut takes.
            _write_all(self._sidecar, text)
        except OSError as error:
            self._cut_back()
            raise unwritable(self._path, error) from error
        self.size += len(records)
        self._indexed_bytes += len(text)

    def _cut_back(self) -> None:
        try:
            self._file.truncate(self.size)
            self._sidecar.truncate(self._indexed_bytes)
        except OSError:
            # The disk takes nothing any more; whoever opens the spool next cuts it.
            pass

    def seal(self) -> None:
        """The index first and the name last, so that a kill in between leaves a spool to go on with."""
        try:
            if self.size:
                self._write_index()
            self._sidecar_path.unlink()
            if self.size:
                self._path.replace(self._sealed)
            else:
                self._path.unlink()
            sync_folder(self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error
        finally:
            self.close()

    def _write_index(self) -> None:
        part = self._index_path.with_name(self._index_path.name + ".part")
        try:
            with part.open("wb") as out:
                out.writelines(sorted(self._sidecar_path.read_bytes().splitlines(keepends=True)))
                out.flush()
                os.fsync(out.fileno())
            part.replace(self._index_path)
        finally:
            part.unlink(missing_ok=True)

    def close(self) -> None:
        self._file.close()
        self._sidecar.close()


def _write_all(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
