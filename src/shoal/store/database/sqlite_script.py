"""The script that creates the tables in a new SQLite file, made from `store/tables/` by `make schema`.

A new home gets its tables without SQLAlchemy. The script also tells the columns of each table to those who write rows.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("sqlite_schema.sql")
_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r"^\t\"?([a-z]\w*)\"? ", re.MULTILINE)
_KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")


class TableColumns(NamedTuple):
    table: str
    names: tuple[str, ...]
    """In the order of the table in `store/tables/`. A database that was upgraded may have another order."""
    key: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are not of the primary key."""
        return tuple(name for name in self.names if name not in self.key)


def statements() -> list[str]:
    return [statement for statement in _FILE.read_text().split(";\n") if statement.strip()]


@cache
def columns_of(table: str) -> TableColumns:
    return _tables()[table]


@cache
def _tables() -> dict[str, TableColumns]:
    return {name: _columns(name, body) for name, body in _TABLE.findall(_FILE.read_text())}


def _columns(table: str, body: str) -> TableColumns:
    key = _KEY.search(body)
    return TableColumns(table, tuple(_COLUMN.findall(body)), tuple(key[1].replace('"', "").split(", ")) if key else ())


def generated() -> str:
    """The script as the tables of this version give it."""
    from sqlalchemy import create_engine

    from shoal.store import tables

    engine = create_engine("sqlite://")
    with engine.begin() as db:
        tables.metadata.create_all(db, checkfirst=False)
        # Indexes last, by name: SQLAlchemy creates those of a table in any order.
        order = "type DESC, CASE type WHEN 'table' THEN rowid END, name"
        made = db.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY {order}").scalars()
        # SQLAlchemy writes spaces at the ends of lines.
        return "".join(re.sub(r"[ \t]+$", "", sql, flags=re.MULTILINE) + ";\n" for sql in made)


if __name__ == "__main__":
    print(generated(), end="")
