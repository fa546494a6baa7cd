"""A store in a SQLite file.

A reader sees one snapshot and never waits. A writer takes the write lock at its start, so it never fails half-way
because another writer came first. Processes that write at the same time take turns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from shoal.errors import Busy, DiskFull, HomeError, ShoalError, Unavailable
from shoal.sqlite_file import read_only_uri, use_write_ahead_log

_BUSY_TIMEOUT_S = 5.0


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
        uri = read_only_uri(path)
        url = URL.create("sqlite", database=uri or str(path), query={"uri": "true"} if uri else {})
        self.reading = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S})
        event.listen(self.reading, "connect", _set_up_connection if uri is None else _disable_driver_begin)
        event.listen(self.reading, "begin", _begin)
        self.writing: Engine = self.reading.execution_options(begin="BEGIN IMMEDIATE")

    def translate_error(self, error: DBAPIError) -> ShoalError | None:
        full_code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        # IOERR_SHMSIZE: the index of the log cannot grow. It is the only I/O error that free disk space cures.
        if full_code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
            return DiskFull(self._path)
        # The low byte is the primary code; nothing depends on the rest.
        code = full_code & 0xFF
        if code not in _ADVICE:
            return None
        kind, advice = _ADVICE[code]
        return kind(f"{self.name}: {error.orig}: {advice}")

    def identity(self, db: Connection) -> str | None:
        try:
            return f"file {self._path.stat().st_ino}"
        except FileNotFoundError:
            # Another process is replacing the file at this moment.
            return None

    def is_contention(self, error: DBAPIError) -> bool:
        return False

    def lock_requests(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        """Nothing to do: SQLite has one writer at a time."""

    def lock_files(self, db: Connection, job: str, alone: bool) -> None:
        """Nothing to do: SQLite has one writer at a time."""

    def lock_free_part(self, db: Connection, job: str) -> int:
        """One part is enough: SQLite has one writer at a time."""
        return 0

    def lock_schema(self, db: Connection) -> None:
        """Nothing to do: SQLite has one writer at a time."""


_ADVICE: dict[int, tuple[type[HomeError | Unavailable], str]] = {
    sqlite3.SQLITE_NOTADB: (HomeError, "this file is not a database; move it away or use another --home"),
    sqlite3.SQLITE_CORRUPT: (HomeError, "restore it from a backup, or move it away to start from scratch"),
    sqlite3.SQLITE_CANTOPEN: (HomeError, "check that it is a file and that you may read and write it"),
    sqlite3.SQLITE_READONLY: (HomeError, "check that you may write it and its directory"),
    sqlite3.SQLITE_BUSY: (Busy, "another process has locked it for too long; try again when it has ended"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the disk fails to read or write; check it"),
}


def _disable_driver_begin(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN takes the write lock too late


def _set_up_connection(connection: Any, record: object) -> None:
    _disable_driver_begin(connection, record)
    use_write_ahead_log(connection, _BUSY_TIMEOUT_S)


def _begin(db: Connection) -> None:
    db.exec_driver_sql(db.get_execution_options().get("begin", "BEGIN"))
