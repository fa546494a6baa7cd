"""Tables in a SQLite file. SQLite has no type for decimals, times and lists: they are text, the latter as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import Unavailable, UsageError
from shoal.model.field_type import FieldType
from shoal.sinks.destination import Options, SinkItem, SinkLost
from shoal.sinks.tables.table_sink import Refused, TableSink
from shoal.sqlite_file import use_write_ahead_log
from shoal.store.results.item_values import datetime_of

_BUSY_S = 5.0
_TYPES = {"integer": "INTEGER", "number": "REAL", "boolean": "BOOLEAN", "date": "DATE", "datetime": "DATETIME"}
_ACCEPTED = {
    "TEXT": ("TEXT", "VARCHAR", "CLOB", ""),
    "INTEGER": ("INTEGER", "INT", "BIGINT", "NUMERIC", ""),
    "REAL": ("REAL", "DOUBLE", "FLOAT", "NUMERIC", ""),
}
_INTEGERS = range(-(2**63), 2**63)


class SqliteSink(TableSink):
    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(options)
        self.address = f"sqlite:///{path}"
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        db = self._db
        try:
            # Also keeps every other process from writing until the end: `lock` has nothing left to do.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                # Also if the thread is interrupted: half a batch must not be committed.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def lock(self) -> None: ...

    def columns_of(self, table: str) -> Mapping[str, str] | None:
        return {row[1]: row[2].upper() for row in self._db.execute(f"PRAGMA table_info({_quoted(table)})")} or None

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        parts = ", ".join(f"{_quoted(name)} {type}" for name, type in columns.items())
        self._db.execute(f"CREATE TABLE {_quoted(table)} ({parts}, PRIMARY KEY (_id))")

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        for name, type in columns.items():
            self._db.execute(f"ALTER TABLE {_quoted(table)} ADD COLUMN {_quoted(name)} {type}")
        if "_id" in columns:
            self._db.execute(f"CREATE UNIQUE INDEX {_quoted(f'{table}_id')} ON {_quoted(table)} (_id)")

    def type_of(self, field: FieldType) -> str:
        return _TYPES.get(field.kind, "TEXT")

    def accepts(self, column: str, field: FieldType) -> bool:
        wanted = self.type_of(field)
        return column.partition("(")[0].strip() in _ACCEPTED.get(wanted, (wanted,))

    def insert(self, table: str, fields: Mapping[str, str], job: str, found: Sequence[SinkItem]) -> None:
        names = ["_id", "_job", "_url", *fields]
        values = ", ".join("?" * len(names))
        replaced = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in names[1:])
        statement = (
            f"INSERT INTO {_quoted(table)} ({', '.join(map(_quoted, names))}) VALUES ({values}) "
            f"ON CONFLICT (_id) DO UPDATE SET {replaced}"
        )
        self._db.execute("SAVEPOINT items")
        try:
            self._db.executemany(statement, [self._row(fields, job, item) for item in found])
        except sqlite3.Error as error:
            self._db.execute("ROLLBACK TO items")
            if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError):
                raise Refused(str(error)) from error
            raise
        except Refused:
            self._db.execute("ROLLBACK TO items")
            raise
        self._db.execute("RELEASE items")

    def delete(self, table: str, ids: Sequence[str]) -> None:
        self._db.executemany(f"DELETE FROM {_quoted(table)} WHERE _id = ?", [(id,) for id in ids])

    def _row(self, fields: Mapping[str, str], job: str, item: SinkItem) -> tuple[Any, ...]:
        data = json.loads(item.data)
        return item.name.id, job, item.url, *(_value(name, type, data.get(name)) for name, type in fields.items())

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                # Only one thread uses it at a time, but not always the same.
                db = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
                use_write_ahead_log(db, _BUSY_S)
            except sqlite3.Error as error:
                raise UsageError(f"{self.address}: {error}: check that its folder exists and is writable") from error
            self._connection = db
        return self._connection

    def _translated(self, error: sqlite3.Error) -> Exception:
        words = str(error)
        if "no such table" in words or "no such column" in words or "has no column" in words:
            return SinkLost(f"{self.address}: {words}")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        passing = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED)
        return (Unavailable if passing else UsageError)(f"{self.address}: {words}")


def _value(name: str, type: str, value: Any) -> Any:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return value if type == "BOOLEAN" else json.dumps(value)
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise Refused(f"{name} {value} is no 64-bit integer")
        return value if type != "TEXT" else str(value)
    if type in ("INTEGER", "REAL", "BOOLEAN"):
        raise Refused(f"{name} {value!r:.80} is no {type}")
    if type == "DATETIME":
        at = datetime_of(value)
        if at is None:
            raise Refused(f"{name} {value!r:.80} is no date and time")
        return at.isoformat(" ")
    return value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
