"""`shoal config show`: lists every setting with its value and where the value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from shoal.cli.project_options import project_options
from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe
from shoal.jobs.mask_secrets import options_without_secrets
from shoal.settings import PROJECT_TABLE


@click.group()
@global_options
def config() -> None:
    """Show the settings and where each value comes from.

    \b
    shoal config show
    """


@config.command(cls=Command)
def show(session: Session) -> None:
    """Print each setting with its value and where the value comes from. Secrets are masked.

    Precedence: flag > SHOAL_* > ./shoal.toml > [tool.shoal] in ./pyproject.toml > the user's config.toml. Rows that
    begin with "crawl." are options of jobs, from the table [crawl] of the nearest shoal.toml.

    \b
    shoal config show
    shoal config show --json
    """
    rows, project = session.settings.rows(), list(_project_rows())
    if session.json:
        for name, value, origin in rows:
            unset = getattr(session.settings, name) in (None, ())
            session.data({"name": name, "value": None if unset else value, "origin": origin})
        for name, value, origin in project:
            session.data({"name": name, "value": value, "origin": origin})
        return
    rows += project
    name_chars, origin_chars = (max(len(row[place]) for row in rows) for place in (0, 2))
    for name, value, origin in rows:
        session.show(f"{name:<{name_chars}}  {safe(origin):<{origin_chars}}  {safe(value)}")


def _project_rows() -> Iterator[tuple[str, str, str]]:
    path, options = project_options(Path.cwd())
    for name, value in options_without_secrets(options).items():
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield f"{PROJECT_TABLE}.{name}", shown, str(path)
