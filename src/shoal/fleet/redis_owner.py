"""Protects a Redis from being shared by two fleets with different databases: each would lease requests of the other,
which it does not know.

    {shoal:0}:database    the database of the fleet that uses this Redis, as JSON, for CLAIM_S

Only a running tend holds a claim, and databases are compared by identity, not by URL. So a fleet is not refused after
its database was moved or restored, or its URL was spelled differently.
"""

from __future__ import annotations

import asyncio
import json

from shoal.errors import UsageError
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG
from shoal.store.store import Store

KEY = f"{TAG}:database"
CLAIM_S = 12.0


async def claim_redis(connection: RedisConnection, store: Store) -> None:
    """Writes the claim for CLAIM_S; call it again before it expires."""
    identity = await asyncio.to_thread(store.identity)
    if identity is not None:
        claim = json.dumps({"identity": identity, "name": store.name})
        await connection.command("SET", KEY, claim, "PX", int(CLAIM_S * 1000))


async def check_redis_owner(connection: RedisConnection, store: Store) -> None:
    """Raises UsageError if a fleet with another database uses this Redis."""
    claim = json.loads(await connection.command("GET", KEY) or "null")
    identity = await asyncio.to_thread(store.identity) if claim else None
    if identity is None or claim["identity"] == identity:
        return
    raise UsageError(
        f"Redis at {connection.address} belongs to another fleet: that fleet uses database {claim['name']}, this one "
        f"{store.name}. Give one of the two another number in SHOAL_REDIS_URL, as in redis://host:6379/2. If the fleet "
        f"has moved to this database, stop the `shoal tend` with the old one, and start again {CLAIM_S:g} s later"
    )
