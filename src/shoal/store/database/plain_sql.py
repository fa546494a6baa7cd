"""Statements as plain SQL text, for what every crawl does: SQLAlchemy takes longer to import than a page to crawl.

A statement names its values as `:name` and is the same on SQLite and PostgreSQL. It runs in a transaction of SQLite's
driver, or in one of SQLAlchemy together with SQLAlchemy's own statements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.store.database.sqlite_connections import SqliteTransaction

if TYPE_CHECKING:
    from sqlalchemy import Connection

    Transaction = SqliteTransaction | Connection

_NAME = re.compile(r"(?<!:):(\w+)")
Row = Sequence[Any]


def run(db: Transaction, statement: str, values: Mapping[str, Any] | None = None) -> list[Row]:
    """Returns the rows, if the statement gives any."""
    if isinstance(db, SqliteTransaction):
        return db.execute(statement, values or {}).fetchall()
    result = db.exec_driver_sql(_for_driver(statement, is_postgres(db)), dict(values or {}))
    return list(result) if result.returns_rows else []


def first(db: Transaction, statement: str, values: Mapping[str, Any] | None = None) -> Row | None:
    """The first row, if there is any."""
    rows = run(db, statement, values)
    return rows[0] if rows else None


def value(db: Transaction, statement: str, values: Mapping[str, Any] | None = None) -> Any:
    """The first value of the first row; None if there is no row."""
    row = first(db, statement, values)
    return None if row is None else row[0]


def insert_row(db: Transaction, table: str, values: Mapping[str, Any]) -> None:
    run(db, f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})", values)


def changes(names: Iterable[str]) -> str:
    """The part of an UPDATE that sets these columns to the values of the same names."""
    return ", ".join(f"{name} = :{name}" for name in names)


def run_text(db: Transaction, statement: str, values: tuple[Any, ...]) -> None:
    """Runs a statement in the driver's own form."""
    if isinstance(db, SqliteTransaction):
        db.execute(statement, values)
    else:
        db.exec_driver_sql(statement, values)


def is_postgres(db: Transaction) -> bool:
    return not isinstance(db, SqliteTransaction) and db.dialect.name == "postgresql"


def for_update(db: Transaction) -> str:
    """The end of a SELECT that locks its rows until the transaction ends. SQLite has one writer at a time."""
    return "FOR UPDATE" if is_postgres(db) else ""


def among(db: Transaction, column: str, name: str) -> str:
    """Whether the column holds one of many values; `list_value` makes the value with this name."""
    if is_postgres(db):
        # One array for all: PostgreSQL then finds the outcomes of 128 fingerprints in 2.4 ms instead of 9.8.
        return f"{column} = ANY(:{name})"
    # As one JSON text: with a placeholder per value, every length of the list would be another statement to parse.
    return f"{column} IN (SELECT value FROM json_each(:{name}))"


def list_value(db: Transaction, values: Collection[Any]) -> Any:
    return list(values) if is_postgres(db) else json.dumps(list(values))


@cache
def _for_driver(statement: str, postgres: bool) -> str:
    return _NAME.sub(r"%(\1)s", statement.replace("%", "%%")) if postgres else statement
