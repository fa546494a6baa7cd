"""The SQL database of a home: opening it, and the two kinds of transaction everything else is made of.

A reader sees one snapshot and never waits; a writer takes the write lock at its start, so that it never fails
half-way because another got in between. The driver's errors become Shoal's here and nowhere else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DBAPIError

from shoal.errors import DiskFull, HomeError, Unavailable, UsageError
from shoal.store import schema

_BUSY_TIMEOUT_S = 5.0


class Store:
    def __init__(self, path: Path) -> None:
        """Use `Store.open`: the schema is unchecked here."""
        self.path = path
        url = URL.create("sqlite", database=str(path))
        self._engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S})
        event.listen(self._engine, "connect", _set_up_connection)
        event.listen(self._engine, "begin", _begin)
        self._writing = self._engine.execution_options(begin="BEGIN IMMEDIATE")

    @classmethod
    def open(cls, place: Path | str) -> Self:
        """Opens the database at a path or sqlite:/// URL; makes it if it is new, upgrades it if it is older."""
        path = _path(place)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HomeError(f"cannot make the directory {path.parent}: {error.strerror}") from error
        store = cls(path)
        try:
            store._check_schema()
        except BaseException:
            store.close()
            raise
        return store

    def _check_schema(self) -> None:
        with self.read() as db:
            current = schema.is_current(db)
        if not current:
            with self.write() as db:
                schema.make_current(db, str(self.path))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._translated(), self._engine.begin() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._translated(), self._writing.begin() as db:
            yield db

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            whole = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            # A log's index that cannot grow is the one input/output error that room on the disk mends.
            if whole in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
                raise DiskFull(self.path) from error
            # The low byte is the primary code; the rest says more than anyone acts on.
            code = whole & 0xFF
            if code in _ADVICE:
                kind, advice = _ADVICE[code]
                raise kind(f"{self.path}: {error.orig}: {advice}") from error
            raise


_ADVICE: dict[int, tuple[type[HomeError | Unavailable], str]] = {
    sqlite3.SQLITE_NOTADB: (HomeError, "it is something else than a database; move it away or use another --home"),
    sqlite3.SQLITE_CORRUPT: (HomeError, "restore it from a backup, or move it away to start anew"),
    sqlite3.SQLITE_CANTOPEN: (HomeError, "check that it is a file and that you may read and write it"),
    sqlite3.SQLITE_READONLY: (HomeError, "check that you may write it and its directory"),
    sqlite3.SQLITE_BUSY: (Unavailable, "another process has held it for too long; try again when that has ended"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the disk does not read or write"),
}


def _path(place: Path | str) -> Path:
    if isinstance(place, Path):
        return place
    scheme, separator, rest = place.partition("://")
    if not separator:
        return Path(place)
    if scheme != "sqlite" or not rest.startswith("/"):
        raise UsageError(f"{place!r} is no database Shoal can open: give a path, or sqlite:///path")
    return Path(rest[1:])


def _set_up_connection(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # BEGIN is ours: the driver's own never takes the write lock in time
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin(db: Connection) -> None:
    db.exec_driver_sql(db.get_execution_options().get("begin", "BEGIN"))
