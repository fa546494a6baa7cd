"""`shoal token`: manages the API's access tokens."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Any

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe, table
from shoal.store.fleet.tokens import TokenScope

HEADER = ("id", "scope", "made", "last used", "name")


@click.group()
@global_options
def token() -> None:
    """Create, list and remove API tokens.

    \b
    shoal token add marketing --scope submit
    shoal token list
    shoal token remove marketing
    """


@token.command(cls=Command)
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in TokenScope]),
    default=TokenScope.READ.value,
    show_default=True,
    help="read: see all jobs; submit: submit jobs, see and control its own; admin: everything.",
)
def add(session: Session, name: str, scope: str) -> None:
    """Create a token called NAME and print it. It is not shown again.

    \b
    export SHOAL_TOKEN=$(shoal token add marketing --scope submit)
    """
    with session.open_tokens() as tokens:
        made = tokens.add(name, scope)
    if session.json:
        session.data({"name": name, "scope": scope, "token": made})
        return
    session.show(made)
    session.say(f"token {safe(name)}, scope {scope}: save it now, it is not shown again")


@token.command("list", cls=Command)
def list_(session: Session) -> None:
    """List the tokens: names and scopes, not the secrets.

    \b
    shoal token list
    """
    with session.open_tokens() as tokens:
        found = tokens.all()
    if session.json:
        for one in found:
            session.data(one)
        return
    if not found:
        way = session.command("token", "add", "NAME", "--scope submit")
        session.say(f"there is no token yet: `{way}` creates one")
        return
    for line in table(map(_row, found), HEADER, get_terminal_size().columns, frozenset()):
        session.show(line)


@token.command(cls=Command)
@click.argument("name")
def remove(session: Session, name: str) -> None:
    """Remove a token by its NAME or id. The API refuses it from then on.

    \b
    shoal token remove marketing
    """
    with session.open_tokens() as tokens:
        tokens.remove(name)
    if session.json:
        session.data({"removed": name})
    session.say(f"token {safe(name)} is removed")


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    used = "never" if one["used_at"] is None else one["used_at"][:16]
    return one["id"], one["scope"], one["created_at"][:16], used, safe(one["name"])
