"""The interface of a database. It covers all that differs between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.store.database.plain_sql import Transaction


class Database(Protocol):
    name: str
    """The name for messages, without a password."""
    upgrades_itself: bool
    """Whether `Store.open` upgrades an older schema, because no other process uses the database meanwhile."""
    parts: range
    """All parts that `lock_free_part` may return."""
    refusal: type[ShoalError]
    """The error class for a database that Shoal cannot use."""
    how_to_change: str
    """Tells the user how to choose another database."""

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one snapshot and never waits for writers."""
        ...

    def write(self) -> AbstractContextManager[Connection]: ...

    def read_plain(self) -> AbstractContextManager[Transaction]:
        """Like `read`, for statements of `plain_sql` only."""
        ...

    def write_plain(self) -> AbstractContextManager[Transaction]: ...

    def write_at_once(self) -> AbstractContextManager[Transaction | None]:
        """Like `write_plain`, but gives None if it would have to wait, for another writer or for a server."""
        ...

    def close(self) -> None: ...

    def translate_error(self, error: Exception) -> ShoalError | None:
        """Translates the driver's error into Shoal's; None if only a bug of ours can be the cause."""
        ...

    def identity(self, db: Connection) -> str | None:
        """Unique to this database and independent of its URL; None if it is unknown."""
        ...

    def is_contention(self, error: Exception) -> bool:
        """Whether another transaction got in the way, so that a retry will succeed."""
        ...

    def lock_requests(self, db: Transaction, job: str, fingerprints: Iterable[int]) -> None:
        """Locks these requests against other writers until the transaction ends."""
        ...

    def lock_files(self, db: Transaction, job: str, alone: bool) -> None:
        """Until the transaction ends, no other one has the files of the job alone, or none has them at all."""
        ...

    def lock_free_part(self, db: Transaction, job: str) -> int:
        """Locks a part of the job's tallies that no other writer uses, until the transaction ends, and returns it."""
        ...

    def lock_schema(self, db: Transaction) -> None:
        """Locks the schema until the transaction ends."""
        ...
