"""How many bytes of the database are a job's: what its rows hold, without indexes and free space."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, LargeBinary, Table, cast, func, literal, select

from shoal.store.store import Store
from shoal.store.tables import metadata

_JOB = "job"
_ROW_BYTES = {"postgresql": 28, "sqlite": 8}
"""What a row takes besides its values."""


def database_bytes(store: Store, job: str) -> int:
    """Reads all rows of the job: a second for a million items."""
    of_jobs = [table for table in metadata.tables.values() if _JOB in table.c]
    with store.read() as db:
        return sum(_bytes_of(db, table, job) for table in of_jobs)


def _bytes_of(db: Connection, table: Table, job: str) -> int:
    row: ColumnElement[int] = literal(_ROW_BYTES[db.dialect.name])
    for column in table.columns:
        # PostgreSQL says what a value takes where it is, compressed. SQLite has no such function.
        size = (
            func.pg_column_size(column) if db.dialect.name == "postgresql" else func.length(cast(column, LargeBinary))
        )
        row = row + func.coalesce(size, 0)
    return int(db.execute(select(func.coalesce(func.sum(row), 0)).where(table.c[_JOB] == job)).scalar_one())
