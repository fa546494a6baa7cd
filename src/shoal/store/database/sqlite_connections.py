"""Transactions of SQLite's own driver, without SQLAlchemy. Any thread may begin one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class SqliteTransaction:
    """One transaction, for `plain_sql`."""

    __slots__ = ("execute",)

    def __init__(self, db: sqlite3.Connection) -> None:
        self.execute: Callable[[str, Mapping[str, Any] | tuple[Any, ...]], sqlite3.Cursor] = db.execute


class SqliteConnections:
    """Connections of one file; each serves one transaction at a time."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        with self._closed_after_failure() as db:
            db.execute(begin)
            yield SqliteTransaction(db)
            db.execute("COMMIT")

    @contextmanager
    def transaction_unless_busy(self, begin: str) -> Iterator[SqliteTransaction | None]:
        """Gives None if another process or thread keeps it from beginning."""
        with self._closed_after_failure() as db:
            if not _has_begun(db, begin):
                yield None
                return
            yield SqliteTransaction(db)
            db.execute("COMMIT")

    @contextmanager
    def _closed_after_failure(self) -> Iterator[sqlite3.Connection]:
        db = self._take()
        try:
            yield db
        except BaseException:
            # Rolls back, and nothing of a failed transaction remains.
            db.close()
            raise
        self._idle.append(db)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()


def _has_begun(db: sqlite3.Connection, begin: str) -> bool:
    try:
        db.execute(begin)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
