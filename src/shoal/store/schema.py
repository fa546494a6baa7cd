"""Which schema a database has, and bringing it to the one this version speaks.

A new database is made whole from the tables and stamped, so that alembic (a quarter of a second to import) is
loaded only when there is something to migrate.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from shoal.errors import HomeError
from shoal.store import tables

HEAD = "0001"
"""The newest revision in `migrations/versions`."""

_version = Table("alembic_version", MetaData(), Column("version_num", Text, primary_key=True))


def is_current(db: Connection) -> bool:
    return _is_ours(db) and _revision(db) == HEAD


def make_current(db: Connection, name: str) -> None:
    """Creates or upgrades the schema in the caller's transaction; `name` is the database in messages."""
    if not inspect(db).get_table_names():
        tables.metadata.create_all(db)
        _version.create(db)
        db.execute(_version.insert().values(version_num=HEAD))
    elif not _is_ours(db):
        raise HomeError(f"{name} is a database, but not one of Shoal's: choose another home with --home")
    elif _revision(db) != HEAD:
        _upgrade(db, name)


def _is_ours(db: Connection) -> bool:
    return inspect(db).has_table(_version.name)


def _revision(db: Connection) -> str | None:
    return db.execute(select(_version.c.version_num)).scalar()


def _upgrade(db: Connection, name: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "shoal.store:migrations")
    config.attributes["connection"] = db
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    revision = _revision(db)
    if revision is not None and revision not in known:
        raise HomeError(
            f"{name} was made by a newer Shoal (schema {revision}, this version knows {HEAD}): "
            "upgrade Shoal, or choose another home with --home"
        )
    command.upgrade(config, "head")
