"""The SQL database of jobs: opening it, and the two kinds of transaction everything else is made of.

The driver's errors become Shoal's here and nowhere else.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shoal.errors import Unavailable, UsageError
from shoal.store import schema
from shoal.store.database import Database
from shoal.store.sqlite import Sqlite

T = TypeVar("T")

_PAUSE_S = (0.05, 0.15)


class Store:
    def __init__(self, database: Database) -> None:
        """Use `Store.open`: the schema is unchecked here."""
        self._database = database

    @classmethod
    def open(cls, place: Path | str) -> Self:
        """Opens the database at a path, a sqlite:/// or a postgresql:// URL; one that is empty gets its tables.

        An older one in a file is upgraded; an older one on a server, which other processes may be using, is refused.
        """
        store = cls(database_at(place))
        try:
            store.make_current(store._database.upgrades_itself)
        except BaseException:
            store.close()
            raise
        return store

    def make_current(self, upgrade: bool) -> str | None:
        """Gives back the revision that was found, None if there was none. Any number of processes may do so at once."""
        if self.is_current():
            return schema.HEAD
        with self.write() as db:
            self._database.hold_schema(db)
            found = schema.revision(db)
            schema.make_current(db, self._database, upgrade)
            return found

    def is_current(self) -> bool:
        """Whether it has the tables of this version."""
        with self.read() as db:
            return schema.is_current(db)

    def identity(self) -> str | None:
        """Of the database itself, whatever the URL that leads to it; None: it cannot be told."""
        with self.read() as db:
            return self._database.identity(db)

    @property
    def name(self) -> str:
        """In messages; it has no password."""
        return self._database.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._translated(), self._database.reading.begin() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._translated(), self._database.writing.begin() as db:
            yield db

    def change(self, work: Callable[[Connection], T]) -> T:
        """`work` in a transaction that writes, and once more if another transaction got in its way."""
        with self._translated():
            try:
                with self._database.writing.begin() as db:
                    return work(db)
            except DBAPIError as error:
                if not self._database.is_contention(error):
                    raise
            # At once it might take the same rows before the one that waits for them has woken up.
            time.sleep(random.uniform(*_PAUSE_S))
            with self._database.writing.begin() as db:
                return work(db)

    def hold(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Keeps other writers away from these requests until the transaction ends."""
        self._database.hold(db, job, fingerprints)

    def free_part(self, db: Connection, job: str) -> int:
        """A part of the job's tallies that no other writer is at, and none will be until the transaction ends."""
        return self._database.free_part(db, job)

    def close(self) -> None:
        self._database.writing.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            ours = self._database.translated(error)
            if ours is None:
                raise
            raise ours from error
        except PoolTimeout as error:
            raise Unavailable(f"{self.name}: all of this process's connections are in use; try again") from error


def database_at(place: Path | str) -> Database:
    if isinstance(place, Path):
        return Sqlite(place)
    scheme, separator, rest = place.partition("://")
    if not separator:
        return Sqlite(Path(place))
    if scheme == "sqlite" and rest.startswith("/"):
        return Sqlite(Path(rest[1:]))
    if scheme in ("postgresql", "postgres"):
        # A crawl on SQLite has no use for it.
        from shoal.store.postgres import Postgres

        return Postgres(place)
    # Without the rest: it may hold a password.
    raise UsageError(
        f"{scheme}:// is no database Shoal can open: give a path, sqlite:///path or postgresql://host/name"
    )
