"""Who asks, and what they may: `Authorization: Bearer shoal_…`, on every call of the API."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from flask import g, request

from shoal.control.bridge import bridge
from shoal.control.problems import Problem
from shoal.errors import Unavailable
from shoal.fleet.submit import admins_options, privileges
from shoal.model import Asker, JobSpec
from shoal.store.tokens import Scope, Token, find_token, note_use

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="shoal"'}


def authorize(scope: Scope) -> None:
    """Raises a Problem unless the request carries a token of this scope; afterwards `holder` tells whose it is."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        raise Problem(401, "give a token: Authorization: Bearer shoal_…; `shoal token add` makes one", (), _CHALLENGE)
    store = bridge().store
    token = find_token(store, text.strip())
    if token is None:
        raise Problem(401, "this token is not known: it was removed, or is not of this fleet", (), _CHALLENGE)
    with suppress(Unavailable):
        # That a database cannot be written is no reason not to read from it.
        note_use(store, token, time.time())
    g.token = token
    require(scope)


def holder() -> Token:
    """Whose request this is."""
    return cast(Token, g.token)


def asker() -> Asker:
    """As what a job that the request asks for is asked for."""
    return Asker.ADMIN if holder().scope.includes(Scope.ADMIN) else Asker.SUBMITTER


def require(scope: Scope) -> None:
    token = holder()
    if not token.scope.includes(scope):
        raise Problem(403, f"this needs the scope {scope}, and the token {token.name!r} has {token.scope}")


def require_for(options: Mapping[str, Any], rules: Mapping[str, Any] | None) -> None:
    """Raises a Problem if these options of a job, by the names of the flags, or those in its rules, need an admin.

    A spider's own options do not: the operator has chosen it.
    """
    needing = admins_options(options, rules, bridge().settings.max_rate)
    if needing and asker() is not Asker.ADMIN:
        raise Problem(403, f"this needs the scope admin: {', '.join(needing)}")


def require_to_feed(spec: JobSpec) -> None:
    """Raises a Problem if more URLs for this job need an admin: they would be fetched with what an admin gave it."""
    had = privileges(spec, bridge().settings.max_rate)
    if had and asker() is not Asker.ADMIN:
        raise Problem(403, f"the job has what needs the scope admin, and so do more URLs: {', '.join(had)}")
