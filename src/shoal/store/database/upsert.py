"""Inserts many rows in few statements, with one rule for rows that already exist.

Only this module writes different statements for each database: SQLAlchemy's generic insert has no ON CONFLICT, and
each driver has its own fast way to send many rows. No two rows of a call may have the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Insert = sqlite.Insert | postgresql.Insert

# sqlite3 releases the interpreter lock for each row of an executemany, and takes milliseconds to get it back from a
# busy event loop: 1,750 us per page row, against 29 us when one statement carries 64 rows.
_MOST_ROWS = 64
_MOST_ROWS_AS_COLUMNS = 1000


class Upsert:
    """INSERT ... ON CONFLICT for a table; rows are tuples in the order of the table's columns."""

    def __init__(self, table: Table, on_conflict: Callable[[Insert, Table], Insert]) -> None:
        self._table = table
        self._on_conflict = on_conflict
        self._statements: dict[int, str] = {}
        self._statement_of_columns: str | None = None

    def write(self, db: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        if db.dialect.name == "postgresql":
            self._write_as_columns(db, rows)
        else:
            self._write_as_rows(db, rows)

    def _write_as_rows(self, db: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        start = 0
        while start < len(rows):
            # Only powers of two, so that a handful of statements stay prepared in the driver.
            size = min(_MOST_ROWS, 1 << (len(rows) - start).bit_length() - 1)
            values = tuple(chain.from_iterable(rows[start : start + size]))
            db.exec_driver_sql(self._rows_statement(db, size), values)
            start += size

    def _rows_statement(self, db: Connection, size: int) -> str:
        if size not in self._statements:
            before, after = self._around_values(db)
            one_row = f"({', '.join('?' * len(self._table.columns))})"
            # Not by SQLAlchemy: it takes 12 ms to compile the 64 rows.
            self._statements[size] = f"{before} VALUES {', '.join([one_row] * size)} {after}"
        return self._statements[size]

    def _write_as_columns(self, db: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Sends one array per column, in binary: the statement is the same for any number of rows.

        A save of 40 pages with 20 items each takes 5 ms of our CPU time; rows of values took 18, arrays as text 14.
        """
        for start in range(0, len(rows), _MOST_ROWS_AS_COLUMNS):
            some = rows[start : start + _MOST_ROWS_AS_COLUMNS]
            db.exec_driver_sql(self._columns_statement(db), tuple(map(list, zip(*some, strict=True))))

    def _columns_statement(self, db: Connection) -> str:
        if self._statement_of_columns is None:
            before, after = self._around_values(db)
            types = (column.type.compile(dialect=db.dialect) for column in self._table.columns)
            arrays = ", ".join(f"%b::{type}[]" for type in types)
            self._statement_of_columns = f"{before} SELECT * FROM unnest({arrays}) {after}"
        return self._statement_of_columns

    def _around_values(self, db: Connection) -> tuple[str, str]:
        """The SQL before and after the values, in the database's dialect."""
        insert = insert_into(db, self._table).values(dict.fromkeys(self._table.columns.keys(), 0))
        statement = str(self._on_conflict(insert, self._table).compile(dialect=db.dialect))
        before, _, values_and_after = statement.partition(" VALUES ")
        return before, values_and_after[values_and_after.index("ON CONFLICT") :]


def insert_into(db: Connection, table: Table) -> Insert:
    # Imports only the dialect it needs: PostgreSQL's takes 20 ms.
    if db.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def replace_unless_older(statement: Insert, table: Table) -> Insert:
    """The row of the newer lease wins; the same lease may write its row again."""
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in _values(table)},
        where=statement.excluded.token >= table.c.token,
    )


def take_over_key(statement: Insert, table: Table) -> Insert:
    """The newer lease's row replaces an older row with the same key, and belongs to its own page from then on."""
    return statement.on_conflict_do_update(
        index_elements=[table.c.job, table.c.type, table.c.key],
        index_where=table.c.key.is_not(None),
        set_={name: statement.excluded[name] for name in ("page", "ordinal", "data", "token")},
        where=statement.excluded.token >= table.c.token,
    )


def replace(statement: Insert, table: Table) -> Insert:
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in _values(table)},
    )


def keep_first(statement: Insert, table: Table) -> Insert:
    return statement.on_conflict_do_nothing(index_elements=list(table.primary_key))


def add_count(statement: Insert, table: Table) -> Insert:
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key), set_={"n": table.c.n + statement.excluded.n}
    )


def _values(table: Table) -> list[str]:
    return [column.name for column in table.columns if not column.primary_key]
