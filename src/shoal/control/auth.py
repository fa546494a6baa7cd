"""Authenticates and authorizes every API request: `Authorization: Bearer shoal_…`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from flask import g, request

from shoal.control.async_bridge import bridge
from shoal.control.problems import Problem
from shoal.errors import Unavailable
from shoal.fleet.submit import options_for_admins, privileges
from shoal.model import JobSpec, Requester
from shoal.store.fleet.tokens import Token, TokenScope, find_token, note_use

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="shoal"'}
_BASIC_CHALLENGE = {"WWW-Authenticate": 'Basic realm="shoal", charset="UTF-8"'}


def authorize(scope: TokenScope, *, basic: bool = False) -> None:
    """Raises a Problem unless the request has a token with this scope; afterwards `holder` returns the token.

    With `basic` the token may also be the password of HTTP basic authentication, with any user name.
    """
    challenge = _BASIC_CHALLENGE if basic else _CHALLENGE
    text = _basic_password() if basic and request.authorization is not None else None
    if text is None:
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            way = "as the password, with any user name" if basic else "Authorization: Bearer shoal_…"
            detail = f"a token is missing: send {way}; `shoal token add` creates one"
            raise Problem(401, detail, (), challenge)
    store = bridge().store
    token = find_token(store, text.strip())
    if token is None:
        raise Problem(401, "unknown token: it was removed, or belongs to another fleet", (), challenge)
    with suppress(Unavailable):
        # A database that cannot be written may still be read.
        note_use(store, token, time.time())
    g.token = token
    require(scope)


def _basic_password() -> str | None:
    sent = request.authorization
    return sent.password if sent is not None and sent.type == "basic" else None


def holder() -> Token:
    """The token of the current request."""
    return cast(Token, g.token)


def requester() -> Requester:
    """The role under which a job of this request is submitted."""
    return Requester.ADMIN if holder().scope.includes(TokenScope.ADMIN) else Requester.SUBMITTER


def require(scope: TokenScope) -> None:
    token = holder()
    if not token.scope.includes(scope):
        raise Problem(403, f"this needs a token with scope {scope}; token {token.name!r} has scope {token.scope}")


def require_for(options: Mapping[str, Any], rules: Mapping[str, Any] | None) -> None:
    """Raises a Problem if these job options, named like the flags, or those in its rules need an admin.

    A spider's own options need none: the operator has chosen the spider.
    """
    needing = options_for_admins(options, rules, bridge().settings.max_rate)
    if needing and requester() is not Requester.ADMIN:
        raise Problem(403, f"these options need a token with scope admin: {', '.join(needing)}")


def require_to_feed(spec: JobSpec) -> None:
    """Raises a Problem if more URLs for this job need an admin: they would be fetched with the job's admin options."""
    had = privileges(spec, bridge().settings.max_rate)
    if had and requester() is not Requester.ADMIN:
        raise Problem(403, f"only a token with scope admin may add URLs, because the job has {', '.join(had)}")
