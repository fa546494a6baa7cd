"""Where segments live: sealed ones in a folder per job, open ones in the spools of the machine that writes them.

archive/<job>/<segment>.warc.gz                      sealed and stored, with <segment>.cdxj beside it
spool/<process>/<job>/<segment>.warc.gz.open         written to by that process, with <segment>.cdxj.open
spool/<process>/<job>/<segment>.warc.gz              sealed, on its way to the archive
"""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from shoal.errors import Unavailable, UsageError
from shoal.store.archive import warc
from shoal.store.archive.capture import Reference
from shoal.store.archive.member import unpacked
from shoal.store.archive.moving import move
from shoal.store.archive.spool import INDEX, OPEN_INDEX, SEALED, SPOOL, survey

_MOST_OPEN = 8
_READ_AT_ONCE = 1 << 20


class Folders(NamedTuple):
    """Where an archive is, for another process to open it."""

    root: Path
    spools: Path


class Archive:
    def __init__(self, root: Path, spools: Path) -> None:
        self.root = root
        self.spools = spools
        """Of this machine, a folder per process."""
        self._files: OrderedDict[str, IO[bytes]] = OrderedDict()
        """Segments lately read from; a spool stays the same file when it is sealed and stored."""

    @classmethod
    def at(cls, url: str | None, home: Path) -> Self:
        spools = home / "spool"
        if url is None:
            return cls(home / "archive", spools)
        parts = urlsplit(url)
        if parts.scheme != "file" or parts.netloc or not parts.path.strip("/"):
            raise UsageError(f"archive_url is {url!r}: this version keeps archives in file:///PATH only")
        return cls(Path(unquote(parts.path)), spools)

    @property
    def folders(self) -> Folders:
        return Folders(self.root, self.spools)

    def segments(self, job: str) -> list[str]:
        """Those that can be read from here, in the order in which they were begun."""
        files = [*(self.root / job).glob(f"*{SEALED}"), *self.spools.glob(f"*/{job}/*{SEALED}*")]
        return sorted({f"{job}/{file.name.partition('.')[0]}" for file in files})

    def bytes_of(self, segment: str) -> int | None:
        """None: it cannot be read from here."""
        with _translated(self._stored(segment)):
            for path in self._paths(segment):
                with suppress(FileNotFoundError):
                    return path.stat().st_size
        return None

    def stored_bytes(self, segment: str) -> int | None:
        """None: it is not here, though it may be in a spool. Raises Unavailable if that cannot be told."""
        with _translated(path := self._stored(segment)), suppress(FileNotFoundError):
            return path.stat().st_size
        return None

    def take(self, sealed: Path) -> None:
        """Moves a sealed segment here from its spool; can be repeated from any point. Raises Unavailable."""
        name = sealed.name.removesuffix(SEALED)
        index = sealed.with_name(name + INDEX)
        # The index first: what is in the archive can be found by it.
        if index.exists():
            move(index, self.root / sealed.parent.name / index.name)
        move(sealed, self._stored(f"{sealed.parent.name}/{name}"))

    def record(self, reference: Reference) -> warc.Record:
        """Raises Unavailable if the record is not there."""
        with _translated(self._stored(reference.segment)):
            file = self._opened(reference.segment)
            file.seek(reference.offset)
            member = file.read(reference.length)
        content = unpacked(member)
        record = warc.read(content) if content is not None else None
        if record is None:
            raise Unavailable(f"{file.name} holds no whole record at {reference.offset}: restore it from a backup")
        return record

    def chunks(self, job: str) -> Iterator[bytes]:
        """All whole records of a job that can be read from here, also while more are added."""
        for segment in self.segments(job):
            with _translated(self._stored(segment)):
                yield from self._chunks(segment)

    def remove(self, job: str) -> None:
        """All segments of a job that are here; those in spools are their processes'. Raises Unavailable."""
        self.close()
        folder = self.root / job
        with _translated(folder), suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _chunks(self, segment: str) -> Iterator[bytes]:
        with self._open(segment) as file:
            path = Path(file.name)
            if path.name.endswith(SPOOL):
                end = survey(file, path.with_name(path.name.removesuffix(SPOOL) + OPEN_INDEX)).end
            else:
                end = file.seek(0, os.SEEK_END)
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
        for path in self._paths(segment):
            with suppress(FileNotFoundError):
                return path.open("rb")
        raise FileNotFoundError(self._stored(segment))

    def _paths(self, segment: str) -> Iterator[Path]:
        """Where it may be, in the order of its way, so that one that moves meanwhile is met."""
        job, _, name = segment.partition("/")
        spool = self.spools / process_of(name) / job
        yield spool / f"{name}{SPOOL}"
        yield spool / f"{name}{SEALED}"
        yield self._stored(segment)

    def _stored(self, segment: str) -> Path:
        return self.root / f"{segment}{SEALED}"


def process_of(name: str) -> str:
    """The process that wrote a segment: what stands between the time and the number."""
    return name.partition("-")[2].rpartition("-")[0]


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Unavailable(f"{path} is not there: put it back, or say with SHOAL_ARCHIVE_URL where it is") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
