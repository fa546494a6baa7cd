"""A prefix of a bucket, through obstore, which retries with backoff what may pass.

obstore starts threads with its first call. So a process that forks must make its first call after that.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import obstore

from shoal.errors import ObjectMissing, ObjectStoreAway
from shoal.object_store.bucket_errors import translate
from shoal.object_store.bucket_options import make_client
from shoal.object_store.contract import StoredObject
from shoal.object_store.object_url import ObjectUrl

_SMALL_BYTES = 4 << 20
_SMALL_TIMEOUT_S, _LARGE_TIMEOUT_S = 30, 600
_PART_BYTES = 16 << 20
_WHOLE_BYTES = 128 << 20
"""A larger file is sent in parts. A store shows them only together, but keeps the parts of a killed process, unseen."""
_PARTS_AT_ONCE = 2
_DELETED_AT_ONCE = 1_000


class Bucket:
    def __init__(self, url: ObjectUrl) -> None:
        self._url = url._replace(key=url.key.rstrip("/"))
        self.url = str(self._url).rstrip("/")

    @cached_property
    def _small(self) -> Any:
        return make_client(self._url, _SMALL_TIMEOUT_S)

    @cached_property
    def _large(self) -> Any:
        return make_client(self._url, _LARGE_TIMEOUT_S)

    def check(self) -> None:
        with self._translated(""):
            next(iter(obstore.list(self._small, chunk_size=1)), None)

    def put(self, key: str, data: bytes | mmap.mmap) -> None:
        client = self._small if len(data) <= _SMALL_BYTES else self._large
        with self._translated(key):
            answer = obstore.put(client, key, data, use_multipart=False)
        self._verify(key, answer["e_tag"], data, len(data))

    def put_file(self, key: str, file: Path) -> None:
        size = file.stat().st_size
        if not size:
            return self.put(key, b"")
        with file.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if size <= _WHOLE_BYTES:
                return self.put(key, data)
            with self._translated(key):
                answer = obstore.put(
                    self._large, key, file, use_multipart=True, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
                )
            return self._verify(key, answer["e_tag"], data, _PART_BYTES)

    def get(self, key: str) -> bytes:
        with self._translated(key):
            return bytes(obstore.get(self._large, key).bytes())

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        with self._translated(key):
            return bytes(obstore.get_range(self._small, key, start=offset, length=length))

    def stream(self, key: str) -> Iterator[bytes]:
        with self._translated(key):
            for piece in obstore.get(self._large, key).stream(min_chunk_size=1 << 20):
                yield bytes(piece)

    def size(self, key: str) -> int | None:
        try:
            with self._translated(key, is_missing=FileNotFoundError):
                return int(obstore.head(self._small, key)["size"])
        except FileNotFoundError:
            return None

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        with self._translated(prefix):
            for some in obstore.list(self._small, prefix.rstrip("/") or None):
                for found in some:
                    yield StoredObject(found["path"], found["size"])

    def delete(self, keys: Iterable[str]) -> None:
        names = list(keys)
        for at in range(0, len(names), _DELETED_AT_ONCE):
            self._delete_some(names[at : at + _DELETED_AT_ONCE])

    def _delete_some(self, names: Sequence[str]) -> None:
        try:
            with self._translated(names[0]):
                obstore.delete(self._small, [*names])
        except ObjectMissing:
            # Azure and Google refuse to delete what is not there, and the others of the call may be there still.
            if len(names) > 1:
                middle = len(names) // 2
                self._delete_some(names[:middle])
                self._delete_some(names[middle:])

    def url_of(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def _verify(self, key: str, e_tag: str | None, data: bytes | mmap.mmap, part_bytes: int) -> None:
        """Raises Unavailable unless the store has these bytes. Most answer with their MD5; others are read back."""
        if (e_tag or "").strip('"') in _md5_tags(data, part_bytes):
            return
        theirs = hashlib.sha256()
        for piece in self.stream(key):
            theirs.update(piece)
        if theirs.digest() != hashlib.sha256(data).digest():
            raise ObjectStoreAway(
                f"{self.url_of(key)} arrived damaged: its bytes are not those that were sent; try again"
            )

    @contextmanager
    def _translated(self, key: str, is_missing: Callable[[str], Exception] | None = None) -> Iterator[None]:
        try:
            yield
        except (obstore.exceptions.BaseError, OSError, ValueError) as error:
            if is_missing is not None and isinstance(error, FileNotFoundError):
                raise is_missing(key) from None
            # Without its cause: obstore's text has the whole request, and may have a secret in it.
            raise translate(error, self.url_of(key)) from None


def _md5_tags(data: bytes | mmap.mmap, part_bytes: int) -> set[str]:
    """The entity tags of S3 for these bytes: sent at once, and in parts."""
    view = memoryview(data)
    try:
        starts = range(0, len(view), part_bytes or 1)
        digests = [hashlib.md5(view[at : at + part_bytes], usedforsecurity=False).digest() for at in starts]
    finally:
        view.release()
    if not digests:
        return {hashlib.md5(usedforsecurity=False).hexdigest()}
    joined = hashlib.md5(b"".join(digests), usedforsecurity=False).hexdigest()
    return {digests[0].hex(), f"{joined}-{len(digests)}"} if len(digests) == 1 else {f"{joined}-{len(digests)}"}
