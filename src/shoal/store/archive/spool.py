"""The open segment. Groups of records are appended to it; each is on the disk when `append` returns. Then it is sealed.

Its index is written along without fsync. After a crash, only the bytes after the last indexed record must be read to
find the last complete record. The rest is cut off: no row refers to it, because rows are saved after `append`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import IO, NamedTuple

from shoal.store.archive import cdxj_index, warc
from shoal.store.archive.atomic_move import sync_folder, unwritable
from shoal.store.archive.gzip_members import complete_members, decompress_member

SEALED = ".warc.gz"
SPOOL = ".warc.gz.open"
INDEX = ".cdxj"
OPEN_INDEX = ".cdxj.open"


class SpoolScan(NamedTuple):
    lines: list[bytes]
    """Index lines, one for every complete capture."""
    end: int
    """The end of the last complete record."""


def scan_spool(file: IO[bytes], sidecar: Path) -> SpoolScan:
    """Finds the complete records of an open segment."""
    lines, end = _known(file, sidecar)
    file.seek(end)
    filename = _sealed_name(Path(file.name))
    start = end
    for behind, content in complete_members(file.read()):
        record = warc.read(content)
        if record is None:
            break
        found = cdxj_index.entry_of(record)
        if found is not None:
            lines.append(found.line(filename, end, start + behind - end))
        end = start + behind
    return SpoolScan(lines, end)


def _known(file: IO[bytes], sidecar: Path) -> tuple[list[bytes], int]:
    """The index lines and the end of the last record; empty and 0 if that record is not in the file."""
    try:
        text = sidecar.read_bytes()
    except FileNotFoundError:
        text = b""
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"\n") or cdxj_index.record_span(line) is None:
            break
        lines.append(line)
    place = cdxj_index.record_span(lines[-1]) if lines else None
    if place is not None:
        offset, end = place
        file.seek(offset)
        content = decompress_member(file.read(end - offset))
        if content is not None and warc.read(content) is not None:
            return lines, end
    return [], 0


def _sealed_name(path: Path) -> str:
    return path.name.removesuffix(".open")


class Spool:
    def __init__(self, path: Path) -> None:
        """Creates the file, or truncates an existing one after its last complete record."""
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
        found = scan_spool(self._file, self._sidecar_path)
        self.size = found.end
        text = b"".join(found.lines)
        if self._sidecar.seek(0, os.SEEK_END) != len(text):
            self._sidecar.truncate(0)
            _write_all(self._sidecar, text)
        self._indexed_bytes = len(text)
        self._file.truncate(self.size)

    def append(self, records: bytes, lines: Sequence[bytes]) -> None:
        """Appends everything or nothing; raises Unavailable."""
        text = b"".join(lines)
        try:
            _write_all(self._file, records)
            os.fsync(self._file.fileno())
            # After the records: a power cut must not leave an index line without its record.
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
            # The disk accepts nothing any more; the next process that opens the spool truncates it.
            pass

    def seal(self) -> None:
        """Writes the index first and renames last, so that a crash in between leaves a usable spool."""
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
