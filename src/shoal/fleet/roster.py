"""The roster of the fleet's processes in Redis: each writes every two seconds what it does, and its entry expires if it
stops writing.

    {shoal:0}:roster         set of ids
    {shoal:0}:roster:<id>    an entry as JSON, for ALIVE_S
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from shoal import __version__
from shoal.errors import Unavailable
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG
from shoal.model import Lane

WRITE_EVERY_S = 2.0
ALIVE_S = 12.0
REMOVE_S = 2.0
_IDS = f"{TAG}:roster"


@dataclass(frozen=True, slots=True)
class RosterEntry:
    id: str
    role: str
    """`child` (a process that crawls) or `tend`."""
    machine: str
    pid: int
    lanes: tuple[Lane, ...] = ()
    lane: Lane | None = None
    """The lane of its current slice; None: it is idle."""
    in_flight: int = 0
    unstored: int = 0
    """Requests that ended there and wait to be stored."""
    ended: int = 0
    """Requests that ended there since the process started."""
    per_s: float | None = None
    """How many requests ended there per second, in the last ten seconds. None: it does not crawl, or is older."""
    memory_bytes: int = 0
    browser_pages: int = 0
    """How many pages its browser opens at a time; 0: it has none."""
    browser_open: int = 0
    """How many pages it has open."""
    browser_fault: str | None = None
    """Why its browser does not start."""
    stopping: bool = False
    """It finishes its requests and ends."""
    waiting_for: str | None = None
    """What it waits for, such as a server."""
    unloadable: dict[str, str] = field(default_factory=dict)
    """job -> why the process cannot load it."""
    reading: dict[str, str] = field(default_factory=dict)
    """job -> its page that takes long to parse there."""
    archive_note: str | None = None
    """Why segments wait in its spool; it still works."""
    spooled_bytes: int = 0
    """How much waits there for the archive."""
    version: str = ""
    slots: int = 0
    """How many requests it may have in flight."""
    written_at: float = 0.0
    """When the process wrote the entry."""


async def write(connection: RedisConnection, entry: RosterEntry) -> None:
    """Adds the time and the version of this process."""
    written = replace(entry, version=__version__, written_at=time.time())
    await connection.command("SET", f"{_IDS}:{entry.id}", json.dumps(asdict(written)), "PX", int(ALIVE_S * 1000))
    await connection.command("SADD", _IDS, entry.id)


async def remove(connection: RedisConnection, id: str, *keys: str) -> None:
    """Removes the entry and other keys of that process. If Redis is away, they expire."""
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(REMOVE_S):
            await connection.command("DEL", f"{_IDS}:{id}", *keys)
            await connection.command("SREM", _IDS, id)


async def entries(connection: RedisConnection) -> list[RosterEntry]:
    ids = sorted(id.decode() for id in await connection.command("SMEMBERS", _IDS))
    if not ids:
        return []
    texts = await connection.command("MGET", *(f"{_IDS}:{id}" for id in ids))
    silent = [id for id, text in zip(ids, texts, strict=True) if text is None]
    if silent:
        await connection.command("SREM", _IDS, *silent)
    return [_entry(json.loads(text)) for text in texts if text is not None]


def serving(roster: list[RosterEntry], lane: Lane) -> list[RosterEntry]:
    return [entry for entry in roster if lane in entry.lanes]


def _entry(fields: dict[str, Any]) -> RosterEntry:
    lanes = tuple(Lane(lane) for lane in fields.pop("lanes"))
    lane = fields.pop("lane")
    # During an upgrade, a newer process may write more than this one knows.
    known = {name: value for name, value in fields.items() if name in _FIELDS}
    return RosterEntry(lanes=lanes, lane=Lane(lane) if lane else None, **known)


_FIELDS = {one.name for one in dataclass_fields(RosterEntry)}
