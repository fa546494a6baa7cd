"""Segments in a bucket. A segment is uploaded whole, and its records are read by range."""

from __future__ import annotations

import io
import os
from collections.abc import Collection
from pathlib import Path
from typing import IO, cast

from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store
from shoal.store.archive.spool import INDEX, SEALED
from shoal.store.archive.stored_segments import FILES

_AHEAD_BYTES = 4 << 20
_NEAR_BYTES = 256 << 10
"""Reads this close to one another are those of a reader who goes through the segment."""


class BucketSegments:
    is_remote = True

    def __init__(self, url: str) -> None:
        """Connects to nothing. Raises UsageError."""
        self.objects: ObjectStore = open_store(url)
        self.url = self.objects.url

    def check(self) -> None:
        self.objects.check()

    def names(self, job: str) -> list[str]:
        keys = (found.key for found in self.objects.list(job))
        return [key.removesuffix(SEALED) for key in keys if key.endswith(SEALED)]

    def size(self, segment: str) -> int | None:
        return self.objects.size(segment + SEALED)

    def take(self, sealed: Path) -> None:
        name = sealed.name.removesuffix(SEALED)
        index = sealed.with_name(name + INDEX)
        # The index first: every segment in the archive has its index.
        if index.exists():
            self.objects.put_file(f"{sealed.parent.name}/{index.name}", index)
        self.objects.put_file(f"{sealed.parent.name}/{sealed.name}", sealed)

    def open(self, segment: str) -> IO[bytes]:
        size = self.size(segment)
        if size is None:
            raise FileNotFoundError(self.path_of(segment))
        return cast(IO[bytes], _SegmentObject(self.objects, segment + SEALED, size))

    def remove(self, job: str) -> None:
        self.objects.delete([found.key for found in self.objects.list(job)])

    def file_size(self, path: str) -> int | None:
        return self.objects.size(f"{FILES}/{path}")

    def take_file(self, path: str, file: Path) -> None:
        self.objects.put_file(f"{FILES}/{path}", file)

    def read_file(self, path: str) -> bytes:
        return self.objects.get(f"{FILES}/{path}")

    def remove_files(self, paths: Collection[str]) -> None:
        self.objects.delete(f"{FILES}/{path}" for path in paths)

    def path_of(self, segment: str) -> str:
        return self.objects.url_of(segment + SEALED)


class _SegmentObject(io.RawIOBase):
    """Reads an object by range, and ahead if the reader goes through it."""

    def __init__(self, objects: ObjectStore, key: str, size: int) -> None:
        self._objects = objects
        self._key = key
        self._size = size
        self._at = 0
        self._start = 0
        self._buffer = b""
        self.name = objects.url_of(key)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = max(0, self._size - self._at) if size < 0 else min(size, max(0, self._size - self._at))
        if not wanted:
            return b""
        end = self._start + len(self._buffer)
        if not self._start <= self._at <= self._at + wanted <= end:
            is_near = bool(self._buffer) and 0 <= self._at - end <= _NEAR_BYTES
            self._fetch(max(wanted, _AHEAD_BYTES) if is_near else wanted)
        data = self._buffer[self._at - self._start :][:wanted]
        self._at += len(data)
        return data

    def _fetch(self, length: int) -> None:
        self._buffer = self._objects.get_range(self._key, self._at, min(length, self._size - self._at))
        self._start = self._at
