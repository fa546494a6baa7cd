"""`shoal config show`: every setting, its value and where that comes from."""

from __future__ import annotations

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal import safe


@click.group()
@global_options
def config() -> None:
    """Show the settings and where each comes from.

    \b
    shoal config show
    """


@config.command(cls=Command)
def show(session: Session) -> None:
    """Print each setting with its value and origin; secrets are masked.

    Order: flag > SHOAL_* > ./shoal.toml > [tool.shoal] in ./pyproject.toml > the user's config.toml.

    \b
    shoal config show
    shoal config show --json
    """
    rows = session.settings.rows()
    if session.json:
        for name, value, origin in rows:
            unset = getattr(session.settings, name) in (None, ())
            session.data({"name": name, "value": None if unset else value, "origin": origin})
        return
    name_chars, origin_chars = (max(len(row[place]) for row in rows) for place in (0, 2))
    for name, value, origin in rows:
        session.show(f"{name:<{name_chars}}  {safe(origin):<{origin_chars}}  {safe(value)}")
