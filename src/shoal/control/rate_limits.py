"""Limits the submits of a token per minute, counted in Redis for all processes of the API.

{shoal:0}:submits:<token>:<minute>    the number of submits; expires
"""

from __future__ import annotations

import time

from flask import Response, g

from shoal.control.async_bridge import bridge
from shoal.control.auth import holder
from shoal.control.problems import Problem
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG

SUBMITS = 60
PER_S = 60


def count_submit() -> None:
    """Raises a Problem if the token has reached its limit, and Unavailable if Redis is away."""
    now = int(time.time())
    reset_s = PER_S - now % PER_S
    n = bridge().run(_counted(bridge().connection, f"{TAG}:submits:{holder().id}:{now // PER_S}"))
    g.limit_headers = {
        "RateLimit-Limit": str(SUBMITS),
        "RateLimit-Remaining": str(max(0, SUBMITS - n)),
        "RateLimit-Reset": str(reset_s),
    }
    if n > SUBMITS:
        detail = f"a token may submit {SUBMITS} jobs a minute: try again in {reset_s} s, or put more URLs into each"
        raise Problem(429, detail, headers={"Retry-After": str(reset_s)})


def add_headers(response: Response) -> Response:
    response.headers.update(g.get("limit_headers", {}))
    return response


async def _counted(connection: RedisConnection, key: str) -> int:
    n = int(await connection.command("INCR", key))
    await connection.command("EXPIRE", key, 2 * PER_S)
    return n
