"""Where sealed segments and files of items are stored: a folder, here, or a bucket (`bucket_segments.py`)."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import quote

from shoal.errors import Unavailable
from shoal.object_store.folder import Folder
from shoal.store.archive.atomic_move import move
from shoal.store.archive.spool import INDEX, SEALED

FILES = "files"
"""The folder of files of items, beside the folders of the jobs."""


class SegmentStore(Protocol):
    """All calls may raise Unavailable. Many threads may use it at once."""

    url: str
    is_remote: bool
    """It may be slow and away for a while, so no page waits for it."""

    def check(self) -> None:
        """Finds a wrong bucket and missing credentials."""

    def names(self, job: str) -> list[str]:
        """The job's segments, as references name them."""

    def size(self, segment: str) -> int | None:
        """None: it does not have this segment."""

    def take(self, sealed: Path) -> None:
        """Stores a sealed segment and its index; repeatable after any crash. The caller removes local files that are
        left."""

    def open(self, segment: str) -> IO[bytes]:
        """Raises FileNotFoundError."""

    def remove(self, job: str) -> None: ...

    def file_size(self, path: str) -> int | None:
        """Of a file of items. None: it does not have this file."""

    def take_file(self, path: str, file: Path) -> None:
        """Stores a file; repeatable after any crash. The caller removes a local file that is left."""

    def read_file(self, path: str) -> bytes:
        """Raises ObjectMissing."""

    def remove_files(self, paths: Collection[str]) -> None: ...

    def path_of(self, segment: str) -> str:
        """For messages."""


class FolderSegments:
    is_remote = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files = Folder(root / FILES)
        self.url = f"file://{quote(str(root))}"

    def check(self) -> None:
        """Nothing to do: a folder is made when it is written to."""

    def names(self, job: str) -> list[str]:
        return [f"{job}/{file.name.partition('.')[0]}" for file in (self.root / job).glob(f"*{SEALED}")]

    def size(self, segment: str) -> int | None:
        with _translated(path := self._path(segment)), suppress(FileNotFoundError):
            return path.stat().st_size
        return None

    def take(self, sealed: Path) -> None:
        name = sealed.name.removesuffix(SEALED)
        index = sealed.with_name(name + INDEX)
        # The index first: every segment in the archive has its index.
        if index.exists():
            move(index, self.root / sealed.parent.name / index.name)
        move(sealed, self._path(f"{sealed.parent.name}/{name}"))

    def open(self, segment: str) -> IO[bytes]:
        return self._path(segment).open("rb")

    def remove(self, job: str) -> None:
        with _translated(folder := self.root / job), suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def file_size(self, path: str) -> int | None:
        return self._files.size(path)

    def take_file(self, path: str, file: Path) -> None:
        move(file, self._files.path / path)

    def read_file(self, path: str) -> bytes:
        return self._files.get(path)

    def remove_files(self, paths: Collection[str]) -> None:
        self._files.delete(paths)

    def path_of(self, segment: str) -> str:
        return str(self._path(segment))

    def _path(self, segment: str) -> Path:
        return self.root / f"{segment}{SEALED}"


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
