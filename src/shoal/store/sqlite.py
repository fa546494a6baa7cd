"""A store in a SQLite file.

A reader sees one snapshot and never waits; a writer takes the write lock at its start, so that it never fails
half-way because another got in between. Processes that write at the same time take turns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from shoal.errors import DiskFull, HomeError, ShoalError, Unavailable
from shoal.sqlite_file import read_only_uri

_BUSY_TIMEOUT_S = 5.0


class Sqlite:
    upgrades_itself = True
    refusal: type[ShoalError] = HomeError
    elsewhere = "choose another home with --home"

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise HomeError(f"cannot make the directory {path.parent}: {error.strerror}") from error
        self.name = str(path)
        self._path = path
        seen_only = read_only_uri(path)
        url = URL.create("sqlite", database=seen_only or str(path), query={"uri": "true"} if seen_only else {})
        self.reading = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S})
        event.listen(self.reading, "connect", _set_up_connection if seen_only is None else _begin_is_ours)
        event.listen(self.reading, "begin", _begin)
        self.writing: Engine = self.reading.execution_options(begin="BEGIN IMMEDIATE")

    def translated(self, error: DBAPIError) -> ShoalError | None:
        whole = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        # A log's index that cannot grow is the one input/output error that room on the disk mends.
        if whole in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
            return DiskFull(self._path)
        # The low byte is the primary code; the rest says more than anyone acts on.
        code = whole & 0xFF
        if code not in _ADVICE:
            return None
        kind, advice = _ADVICE[code]
        return kind(f"{self.name}: {error.orig}: {advice}")

    def identity(self, db: Connection) -> str | None:
        try:
            return f"file {self._path.stat().st_ino}"
        except FileNotFoundError:
            # It is being replaced this moment.
            return None

    def is_contention(self, error: DBAPIError) -> bool:
        return False

    def hold(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Nothing to do: whoever writes is alone."""

    def free_part(self, db: Connection, job: str) -> int:
        """One is enough: whoever writes is alone."""
        return 0

    def hold_schema(self, db: Connection) -> None:
        """Nothing to do: whoever writes is alone."""


_ADVICE: dict[int, tuple[type[HomeError | Unavailable], str]] = {
    sqlite3.SQLITE_NOTADB: (HomeError, "it is something else than a database; move it away or use another --home"),
    sqlite3.SQLITE_CORRUPT: (HomeError, "restore it from a backup, or move it away to start anew"),
    sqlite3.SQLITE_CANTOPEN: (HomeError, "check that it is a file and that you may read and write it"),
    sqlite3.SQLITE_READONLY: (HomeError, "check that you may write it and its directory"),
    sqlite3.SQLITE_BUSY: (Unavailable, "another process has held it for too long; try again when that has ended"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the disk does not read or write"),
}


def _begin_is_ours(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own never takes the write lock in time


def _set_up_connection(connection: Any, record: object) -> None:
    _begin_is_ours(connection, record)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin(db: Connection) -> None:
    db.exec_driver_sql(db.get_execution_options().get("begin", "BEGIN"))
