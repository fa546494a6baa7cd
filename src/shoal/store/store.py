"""The SQL database of jobs: opens it and runs read and write transactions.

All other modules of the store use these transactions. Only this module translates the driver's errors into Shoal's.
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
from shoal.store.database import schema
from shoal.store.database.dialect import Database
from shoal.store.database.sqlite import Sqlite

T = TypeVar("T")

_PAUSE_S = (0.05, 0.15)


class Store:
    def __init__(self, database: Database) -> None:
        """Use `Store.open`: the constructor does not check the schema."""
        self._database = database

    @classmethod
    def open(cls, place: Path | str) -> Self:
        """Opens the database at a path, a sqlite:/// URL or a postgresql:// URL, and creates the tables if it is empty.

        Upgrades an older database in a file. Refuses an older database on a server, because other processes may use it.
        """
        store = cls(database_at(place))
        try:
            store.make_current(store._database.upgrades_itself)
        except BaseException:
            store.close()
            raise
        return store

    def make_current(self, upgrade: bool) -> str | None:
        """Returns the revision that it found, None if the database was empty. Many processes may call this at once."""
        if self.is_current():
            return schema.HEAD
        with self.write() as db:
            self._database.lock_schema(db)
            found = schema.revision(db)
            schema.make_current(db, self._database, upgrade)
            return found

    def is_current(self) -> bool:
        """Whether the database has the tables of this version."""
        with self.read() as db:
            return schema.is_current(db)

    def identity(self) -> str | None:
        """Identifies the database itself, whatever its URL. None if the database does not reveal it."""
        with self.read() as db:
            return self._database.identity(db)

    @property
    def name(self) -> str:
        """The name for messages, without a password."""
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
        """Runs `work` in a write transaction, and once more if another transaction got in its way."""
        with self._translated():
            try:
                with self._database.writing.begin() as db:
                    return work(db)
            except DBAPIError as error:
                if not self._database.is_contention(error):
                    raise
            # An immediate retry might lock the same rows before the transaction that waits for them has woken up.
            time.sleep(random.uniform(*_PAUSE_S))
            with self._database.writing.begin() as db:
                return work(db)

    def lock_requests(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Locks these requests against other writers until the transaction ends."""
        self._database.lock_requests(db, job, fingerprints)

    def lock_files(self, db: Connection, job: str, alone: bool) -> None:
        """Until the transaction ends, no other one has the files of the job alone; if `alone`, none has them at all.

        To be taken before the locks of requests.
        """
        self._database.lock_files(db, job, alone)

    def lock_free_part(self, db: Connection, job: str) -> int:
        """Locks a part of the job's tallies that no other writer uses, until the transaction ends, and returns it."""
        return self._database.lock_free_part(db, job)

    @property
    def parts(self) -> range:
        """All parts that `lock_free_part` may return."""
        return self._database.parts

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
            ours = self._database.translate_error(error)
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
        # A crawl on SQLite does not need psycopg.
        from shoal.store.database.postgres import Postgres

        return Postgres(place)
    # Without the rest of the URL: it may contain a password.
    raise UsageError(f"Shoal cannot open a {scheme}:// database: give a path, sqlite:///path or postgresql://host/name")
