"""What differs between the databases a store may be in; everything else of the store is the same for both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from shoal.errors import ShoalError


class Database(Protocol):
    name: str
    """In messages; it has no password."""
    reading: Engine
    """Its transactions see one snapshot and never wait for writers."""
    writing: Engine
    upgrades_itself: bool
    """An older schema is brought up to date by whoever opens it, because nobody else uses it meanwhile."""
    refusal: type[ShoalError]
    """What is raised for one that Shoal cannot use."""
    elsewhere: str
    """How to choose another one."""

    def translated(self, error: DBAPIError) -> ShoalError | None:
        """The driver's error in Shoal's words; None if only a bug of ours can be behind it."""
        ...

    def identity(self, db: Connection) -> str | None:
        """The same however it is addressed, and another one's for every other; None: it cannot be told."""
        ...

    def is_contention(self, error: DBAPIError) -> bool:
        """Another transaction got in the way, and the same done again will succeed."""
        ...

    def hold(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Keeps other writers away from these requests until the transaction ends."""
        ...

    def free_part(self, db: Connection, job: str) -> int:
        """A part of the job's tallies that no other writer is at, and none will be until the transaction ends."""
        ...

    def hold_schema(self, db: Connection) -> None:
        """Keeps others away from the schema until the transaction ends."""
        ...
