"""Who is at work: every process of the fleet writes down every few seconds what it does, in Redis, where the entry of
one that falls silent ends by itself.

    {shoal:0}:roster         set of ids
    {shoal:0}:roster:<id>    an entry as JSON, for ALIVE_S
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.errors import Unavailable
from shoal.frontier.redis.connection import Connection
from shoal.frontier.redis.shard import TAG
from shoal.model import Lane

WRITE_EVERY_S = 2.0
ALIVE_S = 12.0
GOODBYE_S = 2.0
_IDS = f"{TAG}:roster"


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    role: str
    """`child`, a process that crawls, or `tend`."""
    machine: str
    pid: int
    lanes: tuple[Lane, ...] = ()
    lane: Lane | None = None
    """Of the slice that it works in now."""
    in_flight: int = 0
    unstored: int = 0
    """Requests that ended there and wait to be stored."""
    ended: int = 0
    """Requests that ended there since it began."""
    memory_bytes: int = 0
    waiting_for: str | None = None
    """In words, what it cannot do without."""
    unloadable: dict[str, str] = field(default_factory=dict)
    """job -> why it cannot be worked on there."""
    reading: dict[str, str] = field(default_factory=dict)
    """job -> in words, the page of it whose reading takes long there."""


async def write(connection: Connection, entry: Entry) -> None:
    await connection.command("SET", f"{_IDS}:{entry.id}", json.dumps(asdict(entry)), "PX", int(ALIVE_S * 1000))
    await connection.command("SADD", _IDS, entry.id)


async def remove(connection: Connection, id: str, *keys: str) -> None:
    """With other keys of that process. If Redis is away, they end by themselves."""
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(GOODBYE_S):
            await connection.command("DEL", f"{_IDS}:{id}", *keys)
            await connection.command("SREM", _IDS, id)


async def entries(connection: Connection) -> list[Entry]:
    ids = sorted(id.decode() for id in await connection.command("SMEMBERS", _IDS))
    if not ids:
        return []
    texts = await connection.command("MGET", *(f"{_IDS}:{id}" for id in ids))
    silent = [id for id, text in zip(ids, texts, strict=True) if text is None]
    if silent:
        await connection.command("SREM", _IDS, *silent)
    return [_entry(json.loads(text)) for text in texts if text is not None]


def serving(roster: list[Entry], lane: Lane) -> list[Entry]:
    return [entry for entry in roster if lane in entry.lanes]


def _entry(fields: dict[str, Any]) -> Entry:
    lanes = tuple(Lane(lane) for lane in fields.pop("lanes"))
    lane = fields.pop("lane")
    return Entry(lanes=lanes, lane=Lane(lane) if lane else None, **fields)
