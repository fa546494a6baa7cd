"""A fleet at one glance: its servers, who is at work and how fast, how much there is to do."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, replace

from shoal.errors import FrontierFull, Unavailable
from shoal.fleet import roster
from shoal.fleet.place import Fleet
from shoal.store.jobs import unfinished

RATE_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class AtWork:
    """A process that crawls."""

    entry: roster.Entry
    per_s: float
    """Requests that ended there, of late."""


@dataclass(frozen=True, slots=True)
class Glance:
    redis_answers: bool = False
    redis_fault: str | None = None
    """In words, why nothing goes on there. One that answers may be full, or have a full disk; nobody is on its roster
    then."""
    redis_bytes: int = 0
    database_fault: str | None = None
    jobs: int = 0
    """That have not ended."""
    at_work: list[AtWork] = field(default_factory=list)


class Glances:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._ended: dict[str, deque[tuple[float, int]]] = {}

    async def take(self) -> Glance:
        seen = await self._redis()
        database_fault, jobs = await asyncio.to_thread(self._jobs)
        return replace(seen, database_fault=database_fault, jobs=jobs)

    async def _redis(self) -> Glance:
        connection = self._fleet.frontier.connection
        answers, children = False, []
        try:
            memory = await connection.memory()
            answers = True
            children = [entry for entry in await roster.entries(connection) if entry.role == "child"]
            fault = str(FrontierFull(connection.address)) if memory.is_full else None
        except Unavailable as error:
            fault = str(error)
        return Glance(answers, fault, memory.used_bytes if answers else 0, at_work=self._at_work(children))

    def _jobs(self) -> tuple[str | None, int]:
        try:
            return None, len(unfinished(self._fleet.store))
        except Unavailable as fault:
            return str(fault), 0

    def _at_work(self, children: list[roster.Entry]) -> list[AtWork]:
        now = time.monotonic()
        self._ended = {entry.id: self._ended.get(entry.id, deque()) for entry in children}
        return [AtWork(entry, _rate(self._ended[entry.id], now, entry.ended)) for entry in children]


def _rate(history: deque[tuple[float, int]], now: float, ended: int) -> float:
    history.append((now, ended))
    while len(history) > 2 and now - history[0][0] > RATE_WINDOW_S:
        history.popleft()
    then, ended_then = history[0]
    return (ended - ended_then) / (now - then) if now > then else 0.0
