"""API tokens: the name, scope and hash of each. The token itself is shown once and never stored.

A token is `shoal_`, eight characters that identify its row, and 32 secret characters.
"""

from __future__ import annotations

import hmac
import secrets
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, select, update

from shoal.errors import UsageError
from shoal.store.database.storable_text import storable
from shoal.store.database.upsert import insert_into
from shoal.store.store import Store
from shoal.store.tables import tokens as table

PREFIX = "shoal_"
FIRST = "admin"
USED_EVERY_S = 60.0
"""The last use is exact to a minute: a write per request would be too many."""
_ALPHABET = string.ascii_letters + string.digits
_ID_CHARS = 8
_SECRET_CHARS = 32


class TokenScope(StrEnum):
    """Each scope includes those before it."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"

    def includes(self, other: TokenScope) -> bool:
        order = list(TokenScope)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    name: str
    scope: TokenScope
    created_at: float
    used_at: float | None


def add_token(store: Store, name: str, scope: TokenScope) -> str:
    """Returns the token, which cannot be shown again. Raises UsageError if the name is taken."""
    token = _add(store, name, scope, lambda _: None)
    if token is None:
        raise UsageError(f"there is a token {name!r} already: remove it first, or choose another name")
    return token


def add_first_token(store: Store, keep: Callable[[str], None]) -> str | None:
    """Adds an admin token if there is no token at all; calls `keep` before anybody else can see that there is one."""
    if list_tokens(store):
        return None
    # Of two processes that start at once, one finds the name taken.
    return _add(store, FIRST, TokenScope.ADMIN, keep)


def _add(store: Store, name: str, scope: TokenScope, keep: Callable[[str], None]) -> str | None:
    id, secret = _random_text(_ID_CHARS), _random_text(_SECRET_CHARS)
    token = f"{PREFIX}{id}{secret}"
    values = {"id": id, "name": storable(name), "scope": scope, "hash": _hash(token), "created_at": time.time()}
    with store.write() as db:
        unless_taken = insert_into(db, table).values(values).on_conflict_do_nothing()
        if db.execute(unless_taken.returning(table.c.id)).first() is None:
            return None
        keep(token)
    return token


def list_tokens(store: Store) -> list[Token]:
    """In the order of their creation."""
    with store.read() as db:
        rows = db.execute(select(table).order_by(table.c.created_at, table.c.id))
        return [_token(row) for row in rows]


def token_of_id(store: Store, id: str) -> Token | None:
    """None if the token was removed."""
    with store.read() as db:
        row = db.execute(select(table).where(table.c.id == storable(id))).one_or_none()
    return None if row is None else _token(row)


def token_name(store: Store, id: str) -> str | None:
    """None if the token was removed."""
    with store.read() as db:
        return db.execute(select(table.c.name).where(table.c.id == id)).scalar()


def remove_token(store: Store, name: str) -> bool:
    """Removes a token by name or id; the API refuses it from then on. False if there is none."""
    with store.write() as db:
        return db.execute(delete(table).where(_named(name))).rowcount > 0


def change_scope(store: Store, name: str, scope: TokenScope) -> Token | None:
    """Finds the token by name or id; None if there is none."""
    with store.write() as db:
        db.execute(update(table).where(_named(name)).values(scope=scope))
        row = db.execute(select(table).where(_named(name))).first()
    return None if row is None else _token(row)


def find_token(store: Store, token: str) -> Token | None:
    """The row of this token, None if it is wrong. The comparison takes the same time for a wrong and a right secret."""
    id = token.removeprefix(PREFIX)[:_ID_CHARS]
    with store.read() as db:
        row = db.execute(select(table).where(table.c.id == storable(id))).one_or_none()
    if row is None or not hmac.compare_digest(row.hash, _hash(token)):
        return None
    return _token(row)


def note_use(store: Store, token: Token, at: float) -> None:
    if token.used_at is not None and at - token.used_at < USED_EVERY_S:
        return
    with store.write() as db:
        db.execute(update(table).where(table.c.id == token.id).values(used_at=at))


def _named(name: str) -> ColumnElement[bool]:
    return (table.c.name == storable(name)) | (table.c.id == storable(name))


def _token(row: Row[*tuple[Any, ...]]) -> Token:
    return Token(row.id, row.name, TokenScope(row.scope), row.created_at, row.used_at)


def _hash(token: str) -> str:
    # The secret is 190 random bits: nothing slower is needed against guessing.
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _random_text(n: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(n))
