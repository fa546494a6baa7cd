"""A store in a SQLite file.

A reader sees one snapshot and never waits. A writer takes the write lock at its start, so it never fails half-way
because another writer came first. Processes that write at the same time take turns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import Busy, DiskFull, HomeError, ShoalError, Unavailable
from shoal.sqlite_file import read_only_uri, use_write_ahead_log
from shoal.store.database.sqlite_connections import SqliteConnections, SqliteTransaction

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from shoal.store.database.plain_sql import Transaction

_BUSY_TIMEOUT_S = 5.0
_STATEMENTS = 256
"""Kept prepared by each connection."""


class Sqlite:
    upgrades_itself = True
    parts = range(1)
    refusal: type[ShoalError] = HomeError
    how_to_change = "choose another home with --home"

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise HomeError(f"cannot make the directory {path.parent}: {error.strerror}") from error
        self.name = str(path)
        self._path = path
        self._read_only = read_only_uri(path)
        self._plain = SqliteConnections(self._connect)
        self._impatient = SqliteConnections(partial(self._connect, 0.0))

    def read_plain(self) -> AbstractContextManager[SqliteTransaction]:
        return self._plain.transaction("BEGIN")

    def write_plain(self) -> AbstractContextManager[SqliteTransaction]:
        return self._plain.transaction("BEGIN IMMEDIATE")

    def write_at_once(self) -> AbstractContextManager[SqliteTransaction | None]:
        return self._impatient.transaction_unless_busy("BEGIN IMMEDIATE")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._engine.begin() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._engine.execution_options(begin="BEGIN IMMEDIATE").begin() as db:
            yield db

    def close(self) -> None:
        self._plain.close()
        self._impatient.close()
        if "_engine" in self.__dict__:
            self._engine.dispose()

    @cached_property
    def _engine(self) -> Engine:
        # Imported here only: a plain crawl does without it.
        from sqlalchemy import QueuePool, create_engine, event

        engine = create_engine("sqlite://", creator=self._connect, poolclass=QueuePool)
        event.listen(engine, "begin", _begin)
        return engine

    def _connect(self, patience_s: float = _BUSY_TIMEOUT_S) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._read_only or self._path,
            timeout=patience_s,
            # The driver's own BEGIN takes the write lock too late.
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
            uri=self._read_only is not None,
        )
        if self._read_only is None:
            use_write_ahead_log(db, _BUSY_TIMEOUT_S)
        return db

    def translate_error(self, error: Exception) -> ShoalError | None:
        cause = getattr(error, "orig", error)
        if not isinstance(cause, sqlite3.Error):
            return None
        full_code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        # IOERR_SHMSIZE: the index of the log cannot grow. It is the only I/O error that free disk space cures.
        if full_code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
            return DiskFull(self._path)
        # The low byte is the primary code; nothing depends on the rest.
        code = full_code & 0xFF
        if code not in _ADVICE:
            return None
        kind, advice = _ADVICE[code]
        return kind(f"{self.name}: {cause}: {advice}")

    def identity(self, db: Connection) -> str | None:
        try:
            return f"file {self._path.stat().st_ino}"
        except FileNotFoundError:
            # Another process is replacing the file at this moment.
            return None

    def is_contention(self, error: Exception) -> bool:
        return False

    def lock_requests(self, db: Transaction, job: str, fingerprints: Iterable[int]) -> None:
        """Nothing to do: SQLite has one writer at a time."""

    def lock_files(self, db: Transaction, job: str, alone: bool) -> None:
        """Nothing to do: SQLite has one writer at a time."""

    def lock_free_part(self, db: Transaction, job: str) -> int:
        """One part is enough: SQLite has one writer at a time."""
        return 0

    def lock_schema(self, db: Transaction) -> None:
        """Nothing to do: SQLite has one writer at a time."""


_ADVICE: dict[int, tuple[type[HomeError | Unavailable], str]] = {
    sqlite3.SQLITE_NOTADB: (HomeError, "this file is not a database; move it away or use another --home"),
    sqlite3.SQLITE_CORRUPT: (HomeError, "restore it from a backup, or move it away to start from scratch"),
    sqlite3.SQLITE_CANTOPEN: (HomeError, "check that it is a file and that you may read and write it"),
    sqlite3.SQLITE_READONLY: (HomeError, "check that you may write it and its directory"),
    sqlite3.SQLITE_BUSY: (Busy, "another process has locked it for too long; try again when it has ended"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the disk fails to read or write; check it"),
}


def _begin(db: Connection) -> None:
    db.exec_driver_sql(db.get_execution_options().get("begin", "BEGIN"))
