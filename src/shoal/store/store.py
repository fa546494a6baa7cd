"""The SQL database of jobs: opens it and runs read and write transactions.

All other modules of the store use these transactions. Only this module translates the driver's errors into Shoal's.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from shoal.errors import UsageError
from shoal.store.database import schema
from shoal.store.database.dialect import Database
from shoal.store.database.sqlite import Sqlite

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.store.database.plain_sql import Transaction

T = TypeVar("T")
D = TypeVar("D")

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
            # Nobody else closes it: it is not handed out.
            store.close()
            raise
        return store

    def make_current(self, upgrade: bool) -> str | None:
        """Returns the revision that it found, None if the database was empty. Many processes may call this at once."""
        if self.is_current():
            return schema.HEAD
        with self.write_plain() as db:
            self._database.lock_schema(db)
            found = schema.revision(db)
            if schema.create(db, self._database):
                return found
        with self.write() as db:
            self._database.lock_schema(db)
            schema.upgrade(db, self._database, upgrade)
            return found

    def is_current(self) -> bool:
        """Whether the database has the tables of this version."""
        with self.read_plain() as db:
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
        with self._translated(), self._database.read() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._translated(), self._database.write() as db:
            yield db

    @contextmanager
    def read_plain(self) -> Iterator[Transaction]:
        """Like `read`, for statements of `plain_sql`: on SQLite it does without SQLAlchemy."""
        with self._translated(), self._database.read_plain() as db:
            yield db

    @contextmanager
    def write_plain(self) -> Iterator[Transaction]:
        with self._translated(), self._database.write_plain() as db:
            yield db

    def change(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a write transaction, and once more if another transaction got in its way."""
        return self._repeated(self._database.write, work)

    def change_plain(self, work: Callable[[Transaction], T]) -> T:
        """Like `change`, for statements of `plain_sql`."""
        return self._repeated(self._database.write_plain, work)

    def change_at_once(self, work: Callable[[Transaction], None]) -> bool:
        """Runs `work` in a write transaction that may begin without waiting. Returns False if there is none."""
        with self._translated(), self._database.write_at_once() as db:
            if db is None:
                return False
            work(db)
        return True

    def _repeated(self, transaction: Callable[[], AbstractContextManager[D]], work: Callable[[D], T]) -> T:
        with self._translated():
            try:
                with transaction() as db:
                    return work(db)
            except Exception as error:
                # Each database reports it with an exception of its own.
                if not self._database.is_contention(error):
                    raise
            # An immediate retry might lock the same rows before the transaction that waits for them has woken up.
            time.sleep(random.uniform(*_PAUSE_S))
            with transaction() as db:
                return work(db)

    def lock_requests(self, db: Transaction, job: str, fingerprints: Iterable[int]) -> None:
        """Locks these requests against other writers until the transaction ends."""
        self._database.lock_requests(db, job, fingerprints)

    def lock_files(self, db: Transaction, job: str, alone: bool) -> None:
        """Until the transaction ends, no other one has the files of the job alone; if `alone`, none has them at all.

        To be taken before the locks of requests.
        """
        self._database.lock_files(db, job, alone)

    def lock_free_part(self, db: Transaction, job: str) -> int:
        """Locks a part of the job's tallies that no other writer uses, until the transaction ends, and returns it."""
        return self._database.lock_free_part(db, job)

    @property
    def parts(self) -> range:
        """All parts that `lock_free_part` may return."""
        return self._database.parts

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # Each database has its own; what means nothing to us is raised as it is.
            ours = self._database.translate_error(error)
            if ours is None:
                raise
            raise ours from error


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
