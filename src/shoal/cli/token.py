"""`shoal token`: who may use the API."""

from __future__ import annotations

from shutil import get_terminal_size

import click

from shoal.cli.session import Command, Session, global_options, safe, table
from shoal.errors import UsageError
from shoal.store.columns import iso_time
from shoal.store.store import Store
from shoal.store.tokens import Scope, Token, add_token, list_tokens, remove_token

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
    help="What it may: look, submit and steer jobs, or everything.",
)
def add(session: Session, name: str, scope: str) -> None:
    """Make a token for NAME and print it, this once.

    \b
    export SHOAL_TOKEN=$(shoal token add marketing --scope submit)
    """
    with open_store(session) as store:
        made = add_token(store, name, Scope(scope))
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
    with open_store(session) as store:
        found = list_tokens(store)
    if session.json:
        for one in found:
            session.data(_record(one))
        return
    if not found:
        session.say("there is no token yet: `shoal token add NAME --scope submit` makes one")
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
    with open_store(session) as store:
        if not remove_token(store, name):
            raise UsageError(f"there is no token {name!r}: `shoal token list` lists them")
    if session.json:
        session.data({"removed": name})
    session.say(f"token {safe(name)} is removed")


def open_store(session: Session) -> Store:
    """Where the tokens of the fleet are; made if it is not there."""
    from shoal.jobs.place import make_folder

    settings = session.settings
    if settings.database_url is None:
        make_folder(settings.home)
    return Store.open(settings.database_url or settings.home / "shoal.db")


def _row(one: Token) -> tuple[str, ...]:
    used = "never" if one.used_at is None else iso_time(one.used_at)[:16]
    return one.id, one.scope.value, iso_time(one.created_at)[:16], used, safe(one.name)


def _record(one: Token) -> dict[str, str | None]:
    used = None if one.used_at is None else iso_time(one.used_at)
    made = iso_time(one.created_at)
    return {"id": one.id, "name": one.name, "scope": one.scope.value, "created_at": made, "used_at": used}
