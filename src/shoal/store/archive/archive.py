"""Where segments live: a folder per job, read by reference while they are written and after they are sealed.

archive/<job>/00001.warc.gz        sealed, with 00001.cdxj beside it
archive/<job>/00002.warc.gz.open   the spool that is written to, with 00002.cdxj.open
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self
from urllib.parse import unquote, urlsplit

from shoal.errors import Unavailable, UsageError
from shoal.store.archive import warc
from shoal.store.archive.capture import Reference
from shoal.store.archive.member import unpacked
from shoal.store.archive.spool import Spool, survey

SEALED = ".warc.gz"
SPOOL = ".warc.gz.open"
# The first once more: between two looks a spool may have been sealed, and is called otherwise.
_NAMES = (SEALED, SPOOL, SEALED)
_MOST_OPEN = 8
_READ_AT_ONCE = 1 << 20


class Archive:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: OrderedDict[str, IO[bytes]] = OrderedDict()
        """Segments lately read from; a spool stays the same file when it is sealed."""

    @classmethod
    def at(cls, url: str | None, home: Path) -> Self:
        if url is None:
            return cls(home / "archive")
        parts = urlsplit(url)
        if parts.scheme != "file" or parts.netloc or not parts.path.strip("/"):
            raise UsageError(f"archive_url is {url!r}: this version keeps archives in file:///PATH only")
        return cls(Path(unquote(parts.path)))

    def segments(self, job: str) -> list[str]:
        """In their order; the last may still be written to."""
        names = {file.name.partition(".")[0] for file in (self.root / job).glob(f"*{SEALED}*")}
        return [f"{job}/{name}" for name in sorted(names)]

    def bytes_of(self, job: str) -> int:
        """What the job's records take on the disk."""
        return sum(map(self._size, self.segments(job)))

    def spool(self, segment: str) -> Spool:
        """The segment to be appended to; made, or cut after its last whole record, if need be."""
        return Spool(self._path(segment, SPOOL), self._path(segment, SEALED), self._path(segment, ".cdxj"))

    def is_sealed(self, segment: str) -> bool:
        return self._path(segment, SEALED).exists()

    def record(self, reference: Reference) -> warc.Record:
        """Raises Unavailable if the record is not there."""
        with _translated(self._path(reference.segment, SEALED)):
            file = self._opened(reference.segment)
            file.seek(reference.offset)
            member = file.read(reference.length)
        content = unpacked(member)
        record = warc.read(content) if content is not None else None
        if record is None:
            raise Unavailable(f"{file.name} holds no whole record at {reference.offset}: restore it from a backup")
        return record

    def chunks(self, job: str) -> Iterator[bytes]:
        """All whole records of a job, also while more are added."""
        for segment in self.segments(job):
            with _translated(self._path(segment, SEALED)):
                yield from self._chunks(segment)

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _chunks(self, segment: str) -> Iterator[bytes]:
        with self._open(segment) as file:
            if self.is_sealed(segment):
                end = file.seek(0, os.SEEK_END)
            else:
                end = survey(file, self._path(segment, ".cdxj.open")).end
            file.seek(0)
            for start in range(0, end, _READ_AT_ONCE):
                yield file.read(min(_READ_AT_ONCE, end - start))

    def _opened(self, segment: str) -> IO[bytes]:
        file = self._files.pop(segment, None) or self._open(segment)
        self._files[segment] = file
        if len(self._files) > _MOST_OPEN:
            self._files.popitem(last=False)[1].close()
        return file

    def _open(self, segment: str) -> IO[bytes]:
        for ending in _NAMES:
            with suppress(FileNotFoundError):
                return self._path(segment, ending).open("rb")
        raise FileNotFoundError(self._path(segment, SEALED))

    def _size(self, segment: str) -> int:
        for ending in _NAMES:
            with suppress(FileNotFoundError):
                return self._path(segment, ending).stat().st_size
        return 0

    def _path(self, segment: str, ending: str) -> Path:
        return self.root / f"{segment}{ending}"


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Unavailable(f"{path} is not there: put it back, or say with SHOAL_ARCHIVE_URL where it is") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
