"""A local folder as an object store. An object is a file, written as `.part`, synced, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from shoal.errors import NO_ROOM, DiskFull, ObjectMissing, Unavailable
from shoal.object_store.contract import StoredObject

_AT_ONCE = 1 << 20
PART = ".part"


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"file://{path}"

    def check(self) -> None:
        with _translated(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if not os.access(self.path, os.W_OK):
                raise Unavailable(f"{self.path} cannot be written: check its permissions")

    def put(self, key: str, data: bytes) -> None:
        with self._replaced(key) as out:
            out.write(data)

    def put_file(self, key: str, file: Path) -> None:
        with self._replaced(key) as out, file.open("rb") as content:
            shutil.copyfileobj(content, out, _AT_ONCE)

    def get(self, key: str) -> bytes:
        with _translated(path := self._path(key)):
            return path.read_bytes()

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        with _translated(path := self._path(key)), path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def stream(self, key: str) -> Iterator[bytes]:
        with _translated(path := self._path(key)), path.open("rb") as file:
            while piece := file.read(_AT_ONCE):
                yield piece

    def size(self, key: str) -> int | None:
        with _translated(path := self._path(key)), suppress(FileNotFoundError, NotADirectoryError):
            return path.stat().st_size
        return None

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        below = self.path / prefix
        with _translated(below):
            keys = sorted(file.relative_to(self.path).as_posix() for file in below.rglob("*") if file.is_file())
        for key in keys:
            size = None if key.endswith(PART) else self.size(key)
            if size is not None:
                yield StoredObject(key, size)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with _translated(path := self._path(key)):
                path.unlink(missing_ok=True)
                self._remove_empty(path.parent)

    def url_of(self, key: str) -> str:
        return f"{self.url}/{key}"

    def _path(self, key: str) -> Path:
        return self.path / key

    def _remove_empty(self, folder: Path) -> None:
        """A bucket has no folders, and so no empty ones."""
        with suppress(OSError):
            while folder != self.path:
                folder.rmdir()
                folder = folder.parent

    @contextmanager
    def _replaced(self, key: str) -> Iterator[IO[bytes]]:
        path = self._path(key)
        part = path.with_name(path.name + PART)
        with _translated(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("wb") as out:
                    yield out
                    out.flush()
                    os.fsync(out.fileno())
                part.replace(path)
                _sync_folder(path.parent)
            finally:
                part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ObjectMissing(str(path)) from None
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(path) from error
        raise Unavailable(f"{path} cannot be used: {error.strerror}; check its disk and permissions") from error
