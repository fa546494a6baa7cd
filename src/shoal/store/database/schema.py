"""The schema of a database: creates it, checks its revision and upgrades it.

A new database gets all tables at once and a revision stamp. Alembic takes a quarter of a second to import, so it is
imported only when there is something to migrate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.store.database import sqlite_script
from shoal.store.database.dialect import Database
from shoal.store.database.plain_sql import is_postgres, run, value
from shoal.store.database.sqlite_connections import SqliteTransaction

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from shoal.store.database.plain_sql import Transaction

HEAD = "0021"
"""The newest revision in `migrations/versions`."""

_VERSION_TABLE = "alembic_version"


def is_current(db: Transaction) -> bool:
    return revision(db) == HEAD


def revision(db: Transaction) -> str | None:
    found: str | None = value(db, f"SELECT version_num FROM {_VERSION_TABLE}") if _is_ours(db) else None
    return found


def create(db: Transaction, database: Database) -> bool:
    """Creates the schema in the caller's transaction if the database is empty. False if it needs an upgrade."""
    found = _tables(db)
    if not found:
        _create_tables(db)
        run(db, f"CREATE TABLE {_VERSION_TABLE} (version_num TEXT NOT NULL, PRIMARY KEY (version_num))")
        run(db, f"INSERT INTO {_VERSION_TABLE} VALUES (:head)", {"head": HEAD})
    elif _VERSION_TABLE not in found:
        raise database.refusal(f"{database.name} is not a Shoal database: {database.how_to_change}")
    return is_current(db)


def upgrade(db: Connection, database: Database, allowed: bool) -> None:
    """Upgrades or refuses an older schema, unless another process has upgraded it."""
    if is_current(db):
        return
    from alembic import command

    config = _config(db)
    found = revision(db)
    if found is not None and found not in _known(config):
        raise database.refusal(
            f"{database.name} was made by a newer Shoal (schema {found}, this version knows {HEAD}): "
            f"upgrade Shoal, or {database.how_to_change}"
        )
    if not allowed:
        raise database.refusal(
            f"{database.name} was made by an older Shoal (schema {found}, this version needs {HEAD}): "
            "run `shoal db upgrade`"
        )
    command.upgrade(config, "head")


def _create_tables(db: Transaction) -> None:
    if not isinstance(db, SqliteTransaction):
        from shoal.store import tables

        # Without a check for existing tables: there are none.
        tables.metadata.create_all(db, checkfirst=False)
        return
    for statement in sqlite_script.statements():
        run(db, statement)


def _is_ours(db: Transaction) -> bool:
    return _VERSION_TABLE in _tables(db)


def _tables(db: Transaction) -> set[str]:
    if is_postgres(db):
        names = run(db, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    else:
        names = run(db, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in names}


def _config(db: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "shoal.store:migrations")
    config.attributes["connection"] = db
    return config


def _known(config: Config) -> set[str]:
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
