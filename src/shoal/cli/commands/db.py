"""`shoal db upgrade`: creates or upgrades the schema of the store's database."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe


@click.group()
@global_options
def db() -> None:
    """Create or upgrade the database schema.

    \b
    shoal db upgrade
    """


@db.command(cls=Command)
def upgrade(session: Session) -> None:
    """Create the tables in the database at SHOAL_DATABASE_URL, or upgrade older ones.

    Stop every worker first: each version of Shoal works only with its own schema. Without SHOAL_DATABASE_URL it
    upgrades the database of the home, which every command also does by itself.

    \b
    SHOAL_DATABASE_URL=postgresql://shoal@db.example.com/shoal shoal db upgrade
    """
    from shoal.cli.deployments import home_database
    from shoal.store.database.upgrade import upgrade

    session.refuse_api("db upgrade", "the database itself")
    done = upgrade(session.settings.database_url or home_database(session.settings))
    if session.json:
        session.data({"database": done.database, "before": done.before, "after": done.after})
    elif done.before == done.after:
        session.show(f"{safe(done.database)}: schema {done.after}, up to date")
    else:
        was = f"was {done.before}" if done.before else "newly created"
        session.show(f"{safe(done.database)}: schema {done.after}, {was}")
