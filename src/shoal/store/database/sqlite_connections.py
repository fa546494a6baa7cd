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
        db = self._take()
        try:
            db.execute(begin)
            yield SqliteTransaction(db)
            db.execute("COMMIT")
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
