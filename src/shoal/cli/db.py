"""`shoal db upgrade`: the store's schema, brought up to date."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal import safe


@click.group()
@global_options
def db() -> None:
    """Bring the store's schema up to date.

    \b
    shoal db upgrade
    """


@db.command(cls=Command)
def upgrade(session: Session) -> None:
    """Make the tables of SHOAL_DATABASE_URL, or bring older ones up to date.

    Stop every worker before: a version works only with its own schema. Without SHOAL_DATABASE_URL it is the database
    of the home, which every command brings up to date by itself.

    \b
    SHOAL_DATABASE_URL=postgresql://shoal@db.example.com/shoal shoal db upgrade
    """
    from shoal.cli.places import home_database
    from shoal.store.upgrading import upgrade

    session.refuse_api("db upgrade", "the database itself")
    done = upgrade(session.settings.database_url or home_database(session.settings))
    if session.json:
        session.data({"database": done.database, "before": done.before, "after": done.after})
    elif done.before == done.after:
        session.show(f"{safe(done.database)}: schema {done.after}, up to date")
    else:
        was = f"was {done.before}" if done.before else "made new"
        session.show(f"{safe(done.database)}: schema {done.after}, {was}")
