"""What every object store can do. Keys are relative to the prefix with which it was opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol


class StoredObject(NamedTuple):
    key: str
    bytes: int


class ObjectStore(Protocol):
    """Every call blocks and may raise Unavailable. It retries what may pass, for a minute at most."""

    url: str
    """The prefix, without a slash at its end."""

    def check(self) -> None:
        """Raises Unavailable if the store does not answer, or refuses; finds a wrong bucket and missing credentials."""

    def put(self, key: str, data: bytes) -> None:
        """Writes the object whole or not at all, replaces an earlier one, and checks that the store has these bytes."""

    def put_file(self, key: str, file: Path) -> None:
        """`put`, for a file of any size."""

    def get(self, key: str) -> bytes:
        """Raises ObjectMissing."""

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Fewer bytes if the object ends before. Raises ObjectMissing."""

    def stream(self, key: str) -> Iterator[bytes]:
        """The object in pieces. Raises ObjectMissing."""

    def size(self, key: str) -> int | None:
        """None: there is no such object."""

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """The objects below `prefix`, which is a folder, in the order of their keys."""

    def delete(self, keys: Iterable[str]) -> None:
        """Objects that do not exist count as deleted."""

    def url_of(self, key: str) -> str: ...
