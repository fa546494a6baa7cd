"""The schema of a database: creates it, checks its revision and upgrades it.

A new database gets all tables at once and a revision stamp. Alembic takes a quarter of a second to import, so it is
imported only when there is something to migrate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from shoal.store import tables
from shoal.store.database.dialect import Database

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0019"
"""The newest revision in `migrations/versions`."""

_version = Table("alembic_version", MetaData(), Column("version_num", Text, primary_key=True))


def is_current(db: Connection) -> bool:
    return revision(db) == HEAD


def make_current(db: Connection, database: Database, upgrade: bool) -> None:
    """Creates the schema in the caller's transaction, and upgrades or refuses an older one."""
    if not inspect(db).get_table_names():
        # Without a check for existing tables: there are none.
        tables.metadata.create_all(db, checkfirst=False)
        _version.create(db, checkfirst=False)
        db.execute(_version.insert().values(version_num=HEAD))
    elif not _is_ours(db):
        raise database.refusal(f"{database.name} is not a Shoal database: {database.how_to_change}")
    elif revision(db) != HEAD:
        _upgrade(db, database, upgrade)


def revision(db: Connection) -> str | None:
    return db.execute(select(_version.c.version_num)).scalar() if _is_ours(db) else None


def _is_ours(db: Connection) -> bool:
    return inspect(db).has_table(_version.name)


def _upgrade(db: Connection, database: Database, upgrade: bool) -> None:
    from alembic import command

    config = _config(db)
    found = revision(db)
    if found is not None and found not in _known(config):
        raise database.refusal(
            f"{database.name} was made by a newer Shoal (schema {found}, this version knows {HEAD}): "
            f"upgrade Shoal, or {database.how_to_change}"
        )
    if not upgrade:
        raise database.refusal(
            f"{database.name} was made by an older Shoal (schema {found}, this version needs {HEAD}): "
            "run `shoal db upgrade`"
        )
    command.upgrade(config, "head")


def _config(db: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "shoal.store:migrations")
    config.attributes["connection"] = db
    return config


def _known(config: Config) -> set[str]:
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
