"""Tokens of the API: made, listed, changed and removed by an admin."""

from __future__ import annotations

from typing import Any

from shoal.control.bridge import bridge
from shoal.control.models.fleet import TokenChange, TokenList, TokenMade, TokenOrder, TokenShown
from shoal.control.problems import Problem, conflict
from shoal.control.routes import ADMIN, Reply, Routes
from shoal.errors import UsageError
from shoal.store.columns import iso_time
from shoal.store.tokens import Token, add_token, change_scope, find_token, list_tokens, remove_token

routes = Routes("tokens")


@routes.get("/tokens", ADMIN, answers={200: TokenList})
def tokens() -> Reply:
    """List the tokens, without what only their owners know."""
    return {"tokens": [_shown(token) for token in list_tokens(bridge().store)]}


@routes.post("/tokens", ADMIN, answers={201: TokenMade}, body=TokenOrder)
def make_token(body: TokenOrder) -> Reply:
    """Make a token; it is told here and never again."""
    store = bridge().store
    try:
        token = add_token(store, body.name, body.scope)
    except UsageError as error:
        raise conflict(str(error)) from error
    made = find_token(store, token)
    assert made is not None
    return {"id": made.id, "name": made.name, "scope": made.scope, "token": token}, 201


@routes.patch("/tokens/<id>", ADMIN, answers={200: TokenShown}, body=TokenChange)
def change_token(id: str, body: TokenChange) -> Reply:
    """Give a token, by its id or name, another scope."""
    changed = change_scope(bridge().store, id, body.scope)
    if changed is None:
        raise _unknown(id)
    return _shown(changed)


@routes.delete("/tokens/<id>", ADMIN, answers={204: None})
def revoke_token(id: str) -> Reply:
    """Remove a token, by its id or name: whoever holds it is refused from then on."""
    if not remove_token(bridge().store, id):
        raise _unknown(id)
    return None


def _unknown(id: str) -> Problem:
    return Problem(404, f"there is no token {id!r}")


def _shown(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "created_at": iso_time(token.created_at),
        "used_at": None if token.used_at is None else iso_time(token.used_at),
    }
