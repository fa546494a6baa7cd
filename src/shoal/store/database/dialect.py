"""The interface of a database. It covers all that differs between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from shoal.errors import ShoalError


class Database(Protocol):
    name: str
    """The name for messages, without a password."""
    reading: Engine
    """Its transactions see one snapshot and never wait for writers."""
    writing: Engine
    upgrades_itself: bool
    """Whether `Store.open` upgrades an older schema, because no other process uses the database meanwhile."""
    parts: range
    """All parts that `lock_free_part` may return."""
    refusal: type[ShoalError]
    """The error class for a database that Shoal cannot use."""
    how_to_change: str
    """Tells the user how to choose another database."""

    def translate_error(self, error: DBAPIError) -> ShoalError | None:
        """Translates the driver's error into Shoal's; None if only a bug of ours can be the cause."""
        ...

    def identity(self, db: Connection) -> str | None:
        """Unique to this database and independent of its URL; None if it is unknown."""
        ...

    def is_contention(self, error: DBAPIError) -> bool:
        """Whether another transaction got in the way, so that a retry will succeed."""
        ...

    def lock_requests(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Locks these requests against other writers until the transaction ends."""
        ...

    def lock_files(self, db: Connection, job: str, alone: bool) -> None:
        """Until the transaction ends, no other one has the files of the job alone, or none has them at all."""
        ...

    def lock_free_part(self, db: Connection, job: str) -> int:
        """Locks a part of the job's tallies that no other writer uses, until the transaction ends, and returns it."""
        ...

    def lock_schema(self, db: Connection) -> None:
        """Locks the schema until the transaction ends."""
        ...
