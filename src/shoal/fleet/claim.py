"""Whose a Redis is: two fleets with a database each would take each other's requests, and could do nothing with them.

    {shoal:0}:database    that of the fleet which is tended here, as JSON, for CLAIM_S

Only a tend that lives has a claim, and databases are told apart by what they are, not by their URLs. So nobody is
refused for what was moved, restored, spelled otherwise or begun anew.
"""

from __future__ import annotations

import asyncio
import json

from shoal.errors import UsageError
from shoal.frontier.redis.connection import Connection
from shoal.frontier.redis.shard import TAG
from shoal.store.store import Store

KEY = f"{TAG}:database"
CLAIM_S = 12.0


async def claim(connection: Connection, store: Store) -> None:
    """To be repeated."""
    identity = await asyncio.to_thread(store.identity)
    if identity is not None:
        told = json.dumps({"identity": identity, "name": store.name})
        await connection.command("SET", KEY, told, "PX", int(CLAIM_S * 1000))


async def check_ours(connection: Connection, store: Store) -> None:
    """Raises UsageError if a fleet with another database is tended there."""
    told = json.loads(await connection.command("GET", KEY) or "null")
    identity = await asyncio.to_thread(store.identity) if told else None
    if identity is None or told["identity"] == identity:
        return
    raise UsageError(
        f"Redis at {connection.address} is another fleet's: it is tended with the database {told['name']}, and this "
        f"one is {store.name}. Give one of the two another number in SHOAL_REDIS_URL, as in redis://host:6379/2; if "
        f"the fleet has moved to this database, end its `shoal tend` on the other, and start again {CLAIM_S:g} s later"
    )
