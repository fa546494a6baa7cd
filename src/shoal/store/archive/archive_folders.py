"""The archive: sealed segments in a folder per job, open ones in the spools of the machine that writes them.

<archive>/<job>/<segment>.warc.gz                    sealed and stored, with <segment>.cdxj beside it
<archive>/files/97/977c….jpg                         files of items, by their digests, for all jobs
spool/<process>/<job>/<segment>.warc.gz.open         written to by that process, with <segment>.cdxj.open
spool/<process>/<job>/<segment>.warc.gz              sealed, on its way to the archive
spool/<process>/files/977c….jpg                      a file, on its way there
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple, Self

from shoal.errors import Unavailable, UsageError
from shoal.object_store.object_url import ObjectUrl, is_bucket_url, masked
from shoal.settings import SPOOL_BYTES
from shoal.store.archive import warc
from shoal.store.archive.capture import Reference, Resource
from shoal.store.archive.gzip_members import decompress_member, read_member, store_member
from shoal.store.archive.spool import INDEX, OPEN_INDEX, SEALED, SPOOL, scan_spool
from shoal.store.archive.spool_listing import all_segments_in, folders_in
from shoal.store.archive.stored_segments import FILES, FolderSegments, SegmentStore

_MOST_OPEN = 8
_READ_AT_ONCE = 1 << 20


class ArchivePlace(NamedTuple):
    """What another process needs to open the archive."""

    url: str
    spools: Path


class Archive:
    def __init__(self, stored: SegmentStore, spools: Path, spool_bytes: int = SPOOL_BYTES) -> None:
        self.stored = stored
        self.spools = spools
        """The spools of this machine, a folder per process."""
        self.spool_bytes = spool_bytes
        """How much may wait there for a bucket."""
        self._files: OrderedDict[str, IO[bytes]] = OrderedDict()
        """Segments that were read recently. Sealing and storing a spool does not change the file."""

    @classmethod
    def at(cls, url: str | None, home: Path, spool_bytes: int = SPOOL_BYTES) -> Self:
        """Raises UsageError."""
        stored = FolderSegments(home / "archive") if url is None else _stored_at(url)
        return cls(stored, home / "spool", spool_bytes)

    @classmethod
    def of(cls, place: ArchivePlace) -> Self:
        return cls(_stored_at(place.url), place.spools)

    @property
    def place(self) -> ArchivePlace:
        return ArchivePlace(self.stored.url, self.spools)

    def reader(self) -> Archive:
        """Another one, for another thread: an Archive keeps files open, and only one thread may use it."""
        return Archive(self.stored, self.spools, self.spool_bytes)

    def segments(self, job: str) -> list[str]:
        """The segments that this machine can read, in the order of their creation. Raises Unavailable."""
        # In the order in which a segment moves, so that one that moves meanwhile is still found.
        spooled = [file for folder in folders_in(self.spools) for file in all_segments_in(folder / job)]
        return sorted({*(f"{job}/{file.name.partition('.')[0]}" for file in spooled), *self.stored.names(job)})

    def bytes_of(self, segment: str) -> int | None:
        """None: this machine cannot read the segment."""
        spooled = self.spooled_bytes(segment)
        return self.stored_bytes(segment) if spooled is None else spooled

    def spooled_bytes(self, segment: str) -> int | None:
        """None: no process of this machine has it in its spool."""
        for path in self._spooled(segment):
            with _translated(str(path)), suppress(FileNotFoundError):
                return path.stat().st_size
        return None

    def stored_bytes(self, segment: str) -> int | None:
        """None: not in the archive, though it may be in a spool. Raises Unavailable if the archive cannot be read."""
        return self.stored.size(segment)

    def take(self, sealed: Path) -> None:
        """Stores a sealed segment; repeatable after any crash. Raises Unavailable. With a bucket, the local files stay
        until `release`."""
        self.stored.take(sealed)

    def release(self, sealed: Path) -> None:
        """Removes the local files of a segment that the archive and the store's table have."""
        with _translated(str(sealed)):
            sealed.unlink(missing_ok=True)
            # The segment first: an index without its segment is removed with its folder.
            sealed.with_name(sealed.name.removesuffix(SEALED) + INDEX).unlink(missing_ok=True)

    def record(self, reference: Reference) -> warc.Record:
        """With its body if that is a stored file. Raises Unavailable if the record or the file is missing."""
        record = self.record_alone(reference)
        path = record.fields.get(warc.FILE)
        return record if path is None else record._replace(block=record.block + self.file(path))

    def record_alone(self, reference: Reference) -> warc.Record:
        """As it is in its segment. Raises Unavailable if it is missing."""
        with _translated(self.stored.path_of(reference.segment)):
            file = self._opened(reference.segment)
            file.seek(reference.offset)
            member = file.read(reference.length)
        content = decompress_member(member)
        record = warc.read(content) if content is not None else None
        if record is None:
            raise Unavailable(f"{file.name} has no complete record at {reference.offset}: restore it from a backup")
        return record

    def pictures(self, html: Reference) -> list[Resource]:
        """The pictures of a page, in the order in which they were taken. `html` leads to what a browser made of the
        page: its pictures follow it."""
        first = self.record_alone(html).fields
        made_of, found = first.get(warc.CONCURRENT), []
        if first.get("warc-type") != "resource" or made_of is None:
            return []
        with _translated(self.stored.path_of(html.segment)):
            file, at = self._opened(html.segment), html.offset + html.length
            while (member := read_member(file, at)) is not None:
                at, record = member[0], warc.read(member[1])
                if record is None or record.fields.get(warc.CONCURRENT) != made_of:
                    # The next page begins here, or what scripts of this one asked for.
                    break
                found.append(record.as_resource())
        return found

    def file(self, path: str) -> bytes:
        """A file of items. Raises ObjectMissing."""
        for spooled in self._spooled_files(path):
            with suppress(FileNotFoundError):
                return spooled.read_bytes()
        return self.stored.read_file(path)

    def file_bytes(self, path: str) -> int | None:
        """None: this machine cannot read the file."""
        for spooled in self._spooled_files(path):
            with suppress(FileNotFoundError):
                return spooled.stat().st_size
        return self.stored.file_size(path)

    def store_file(self, spooled: Path) -> None:
        """Stores a file unless it is there. Raises Unavailable."""
        path = stored_path(spooled.name)
        with _translated(str(spooled)):
            size = spooled.stat().st_size
        if self.stored.file_size(path) != size:
            self.stored.take_file(path, spooled)

    def chunks(self, job: str, filed: Collection[Reference] = ()) -> Iterator[bytes]:
        """All complete records of a job that this machine can read, also while more are added. Each file of the records
        `filed` comes within the first record that has it."""
        written: set[str] = set()
        for segment in self.segments(job):
            here = sorted(reference for reference in filed if reference.segment == segment)
            with _translated(self.stored.path_of(segment)):
                yield from self._chunks(segment, here, written)

    def remove(self, job: str) -> None:
        """Removes the job's segments from the archive; processes keep those in their spools. Raises Unavailable."""
        self.close()
        self.stored.remove(job)

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()

    def _chunks(self, segment: str, filed: Collection[Reference], written: set[str]) -> Iterator[bytes]:
        with self._open(segment) as file:
            path = Path(file.name)
            if path.name.endswith(SPOOL):
                end = scan_spool(file, path.with_name(path.name.removesuffix(SPOOL) + OPEN_INDEX)).end
            else:
                end = file.seek(0, os.SEEK_END)
            start = 0
            for reference in filed:
                member = self._with_file(reference, written)
                if member is not None:
                    yield from _pieces(file, start, reference.offset)
                    yield member
                    start = reference.offset + reference.length
            yield from _pieces(file, start, end)

    def _with_file(self, reference: Reference, written: set[str]) -> bytes | None:
        """None: the record stays as it is."""
        record = self.record_alone(reference)
        path = record.fields.get(warc.FILE)
        if path is None or path in written or record.fields.get("warc-profile") != warc.IDENTICAL:
            return None
        written.add(path)
        return store_member(warc.response_with_file(record, self.file(path)))

    def _opened(self, segment: str) -> IO[bytes]:
        file = self._files.pop(segment, None) or self._open(segment)
        self._files[segment] = file
        if len(self._files) > _MOST_OPEN:
            self._files.popitem(last=False)[1].close()
        return file

    def _open(self, segment: str) -> IO[bytes]:
        # In the order in which a segment moves, so that one that moves meanwhile is still found.
        for path in self._spooled(segment):
            with suppress(FileNotFoundError):
                return path.open("rb")
        return self.stored.open(segment)

    def _spooled(self, segment: str) -> Iterator[Path]:
        job, _, name = segment.partition("/")
        spool = self.spools / process_of(name) / job
        yield spool / f"{name}{SPOOL}"
        yield spool / f"{name}{SEALED}"

    def _spooled_files(self, path: str) -> Iterator[Path]:
        return self.spools.glob(f"*/{FILES}/{Path(path).name}")


def stored_path(name: str) -> str:
    """Where the archive has the file with this name."""
    return f"{name[:2]}/{name}"


def _pieces(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    for at in range(start, end, _READ_AT_ONCE):
        yield file.read(min(_READ_AT_ONCE, end - at))


def _stored_at(url: str) -> SegmentStore:
    if is_bucket_url(url):
        # Only here: an archive in a folder needs no client of object stores.
        from shoal.store.archive.bucket_segments import BucketSegments

        return BucketSegments(url)
    if not url.startswith("file://"):
        raise UsageError(f"archive_url is {masked(url)!r}: give file:///PATH, s3://, gs:// or az://BUCKET/PREFIX")
    return FolderSegments(Path(ObjectUrl.parse(url).key))


def process_of(name: str) -> str:
    """The process that wrote a segment: the part of its name between the time and the number."""
    return name.partition("-")[2].rpartition("-")[0]


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Unavailable(f"{path} is missing: restore it, or set SHOAL_ARCHIVE_URL to where it is") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
