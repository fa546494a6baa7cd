"""A link that logs an operator in to the dashboard once: for someone who can reach the fleet's Redis and database."""

from __future__ import annotations

from shoal.control.async_bridge import Bridge
from shoal.control.redis_sessions import RedisSessions
from shoal.dashboard.sessions import login_code
from shoal.errors import UsageError
from shoal.settings import Settings
from shoal.store.fleet.tokens import TokenScope, list_tokens


def login_link(settings: Settings, address: str) -> str:
    """`address`: of the API. Raises UsageError if the fleet has no admin token."""
    over = Bridge(settings)
    try:
        admins = [token for token in list_tokens(over.store) if token.scope is TokenScope.ADMIN]
        if not admins:
            raise UsageError("the fleet has no admin token: `shoal token add NAME --scope admin` creates one")
        return f"{address}/login?code={login_code(RedisSessions(over), admins[0].id)}"
    finally:
        over.close()
