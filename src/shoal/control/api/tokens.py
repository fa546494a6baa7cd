"""API tokens: an admin creates, lists, changes and removes them."""

from __future__ import annotations

from typing import Any

from shoal.client.responses.fleet import NewToken, TokenList
from shoal.client.responses.fleet import Token as TokenResponse
from shoal.control.async_bridge import bridge
from shoal.control.models.tokens import TokenChange, TokenOrder
from shoal.control.problems import Problem, conflict
from shoal.control.routes import ADMIN, Reply, Routes
from shoal.errors import UsageError
from shoal.store.fleet.tokens import Token, add_token, change_scope, find_token, list_tokens, remove_token
from shoal.store.results.columns import iso_time

routes = Routes("tokens")


@routes.get("/tokens", ADMIN, answers={200: TokenList})
def tokens() -> Reply:
    """List the tokens, without their secrets."""
    return {"tokens": [_shown(token) for token in list_tokens(bridge().store)]}


@routes.post("/tokens", ADMIN, answers={201: NewToken}, body=TokenOrder)
def make_token(body: TokenOrder) -> Reply:
    """Create a token. The answer has the secret, which is not shown again."""
    store = bridge().store
    try:
        token = add_token(store, body.name, body.scope)
    except UsageError as error:
        raise conflict(str(error)) from error
    made = find_token(store, token)
    assert made is not None
    return {"id": made.id, "name": made.name, "scope": made.scope, "token": token}, 201


@routes.patch("/tokens/<id>", ADMIN, answers={200: TokenResponse}, body=TokenChange)
def change_token(id: str, body: TokenChange) -> Reply:
    """Change the scope of a token, by id or name."""
    changed = change_scope(bridge().store, id, body.scope)
    if changed is None:
        raise _unknown(id)
    return _shown(changed)


@routes.delete("/tokens/<id>", ADMIN, answers={204: None})
def revoke_token(id: str) -> Reply:
    """Remove a token, by id or name. The API refuses it from then on."""
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
