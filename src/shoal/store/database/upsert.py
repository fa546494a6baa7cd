"""Inserts many rows in few statements, with one rule for rows that already exist.

Each database has its own fast way to send many rows. No two rows of a call may have the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from shoal.store.database.plain_sql import is_postgres, run_text
from shoal.store.database.sqlite_script import TableColumns, columns_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Table
    from sqlalchemy.dialects import postgresql, sqlite

    from shoal.store.database.plain_sql import Transaction

    Insert = sqlite.Insert | postgresql.Insert

# sqlite3 releases the interpreter lock for each row of an executemany, and takes milliseconds to get it back from a
# busy event loop: 1,750 us per page row, against 29 us when one statement carries 64 rows.
_MOST_ROWS = 64
_MOST_ROWS_AS_COLUMNS = 1000


class Upsert:
    """INSERT ... ON CONFLICT for a table; rows are tuples in the order of the table's columns.

    `on_conflict` gives the end of the statement. Rows do not have the columns `without`, which stay as they are.
    """

    def __init__(
        self, table: str, on_conflict: Callable[[TableColumns], str], without: frozenset[str] = frozenset()
    ) -> None:
        self._table = table
        self._on_conflict = on_conflict
        self._without = without
        self._statements: dict[int, str] = {}
        self._statement_of_columns: str | None = None

    def write(self, db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
        if is_postgres(db):
            self._write_as_columns(db, rows)
        else:
            self._write_as_rows(db, rows)

    def _write_as_rows(self, db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
        start = 0
        while start < len(rows):
            # Only powers of two, so that a handful of statements stay prepared in the driver.
            size = min(_MOST_ROWS, 1 << (len(rows) - start).bit_length() - 1)
            values = tuple(chain.from_iterable(rows[start : start + size]))
            run_text(db, self._rows_statement(size), values)
            start += size

    def _rows_statement(self, size: int) -> str:
        if size not in self._statements:
            one_row = f"({', '.join('?' * len(self._columns().names))})"
            self._statements[size] = self._statement(f"VALUES {', '.join([one_row] * size)}")
        return self._statements[size]

    def _write_as_columns(self, db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
        """Sends one array per column, in binary: the statement is the same for any number of rows.

        A save of 40 pages with 20 items each takes 5 ms of our CPU time; rows of values took 18, arrays as text 14.
        """
        if self._statement_of_columns is None:
            self._statement_of_columns = self._statement(_rows_of_arrays(self._columns()))
        for start in range(0, len(rows), _MOST_ROWS_AS_COLUMNS):
            some = rows[start : start + _MOST_ROWS_AS_COLUMNS]
            run_text(db, self._statement_of_columns, tuple(map(list, zip(*some, strict=True))))

    def _statement(self, rows: str) -> str:
        columns = self._columns()
        return f"INSERT INTO {self._table} ({_listed(columns.names)}) {rows} {self._on_conflict(columns)}"

    def _columns(self) -> TableColumns:
        columns = columns_of(self._table)
        return columns._replace(names=tuple(name for name in columns.names if name not in self._without))


def _rows_of_arrays(table: TableColumns) -> str:
    # Imported here only: SQLite does without.
    from sqlalchemy.dialects import postgresql

    from shoal.store import tables

    dialect: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    types = {
        column.name: column.type.compile(dialect=dialect) for column in tables.metadata.tables[table.table].columns
    }
    arrays = ", ".join(f"%b::{types[name]}[]" for name in table.names)
    return f"SELECT * FROM unnest({arrays})"


def insert_into(db: Connection, table: Table) -> Insert:
    """SQLAlchemy's own insert, which knows ON CONFLICT."""
    # Imports only the dialect it needs: PostgreSQL's takes 20 ms.
    if db.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def replace_unless_older(columns: TableColumns) -> str:
    """The row of the newer lease wins; the same lease may write its row again."""
    return f"{replace(columns)} WHERE excluded.token >= {columns.table}.token"


def take_over_key(columns: TableColumns) -> str:
    """The newer lease's row replaces an older row with the same key, and belongs to its own page from then on."""
    changes = update_with({name: f"excluded.{name}" for name in ("page", "ordinal", "data", "token")})
    return f"ON CONFLICT (job, type, key) WHERE key IS NOT NULL {changes} WHERE excluded.token >= {columns.table}.token"


def replace(columns: TableColumns) -> str:
    return on_same_key(columns, {name: f'excluded."{name}"' for name in columns.values})


def keep_first(columns: TableColumns) -> str:
    return f"ON CONFLICT ({_listed(columns.key)}) DO NOTHING"


def add_count(columns: TableColumns) -> str:
    return on_same_key(columns, {"n": added(columns, "n")})


def add_failures(columns: TableColumns) -> str:
    """If the stored count has no time, the first time of all stays unknown. The new trend contains the stored one."""
    times = {
        "first_at": f"CASE WHEN excluded.first_at < {columns.table}.first_at THEN excluded.first_at "
        f"ELSE {columns.table}.first_at END",
        "last_at": f"CASE WHEN {columns.table}.last_at > excluded.last_at THEN {columns.table}.last_at "
        "ELSE excluded.last_at END",
        "trend": "excluded.trend",
    }
    return on_same_key(columns, {"n": added(columns, "n"), **times})


def added(columns: TableColumns, name: str) -> str:
    """The sum of the stored value and the new one."""
    return f"{columns.table}.{name} + excluded.{name}"


def on_same_key(columns: TableColumns, changes: dict[str, str]) -> str:
    return f"ON CONFLICT ({_listed(columns.key)}) {update_with(changes)}"


def update_with(changes: dict[str, str]) -> str:
    return "DO UPDATE SET " + ", ".join(f'"{name}" = {value}' for name, value in changes.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
