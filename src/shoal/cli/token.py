"""`shoal token`: who may use the API."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Any

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal import safe, table
from shoal.store.tokens import Scope

HEADER = ("id", "scope", "made", "last used", "name")


@click.group()
@global_options
def token() -> None:
    """Make, list and remove tokens of the API.

    \b
    shoal token add marketing --scope submit
    shoal token list
    shoal token remove marketing
    """


@token.command(cls=Command)
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.READ.value,
    show_default=True,
    help="read: see all jobs; submit: submit jobs, see and steer its own; admin: everything.",
)
def add(session: Session, name: str, scope: str) -> None:
    """Make a token for NAME and print it, this once.

    \b
    export SHOAL_TOKEN=$(shoal token add marketing --scope submit)
    """
    with session.open_tokens() as tokens:
        made = tokens.add(name, scope)
    if session.json:
        session.data({"name": name, "scope": scope, "token": made})
        return
    session.show(made)
    session.say(f"token {safe(name)}, scope {scope}: keep it now, it is not shown again")


@token.command("list", cls=Command)
def list_(session: Session) -> None:
    """List the tokens, without what only their owners know.

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
        session.say(f"there is no token yet: `{way}` makes one")
        return
    for line in table(map(_row, found), HEADER, get_terminal_size().columns, frozenset()):
        session.show(line)


@token.command(cls=Command)
@click.argument("name")
def remove(session: Session, name: str) -> None:
    """Remove a token by its NAME or id: whoever holds it is refused from then on.

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
