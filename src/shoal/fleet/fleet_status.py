"""Reads the status of a fleet: its servers, its crawling processes and their rates, and the number of open jobs."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field, replace

from shoal.errors import FrontierFull, Unavailable
from shoal.fleet import roster
from shoal.fleet.fleet import Fleet
from shoal.store.jobs import unfinished_jobs

RATE_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class AtWork:
    """A process that crawls."""

    entry: roster.RosterEntry
    per_s: float
    """Requests that ended there per second, recently."""


@dataclass(frozen=True, slots=True)
class FleetStatus:
    redis_answers: bool = False
    redis_fault: str | None = None
    """Why Redis cannot be used. A Redis that answers may be full, or its disk may be; then the roster is empty."""
    redis_bytes: int = 0
    database_fault: str | None = None
    jobs: int = 0
    """Jobs that have not ended."""
    at_work: list[AtWork] = field(default_factory=list)


class FleetStatusReader:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._ended: dict[str, deque[tuple[float, int]]] = {}

    async def read(self) -> FleetStatus:
        status = await self._redis()
        database_fault, jobs = await asyncio.to_thread(self._jobs)
        return replace(status, database_fault=database_fault, jobs=jobs)

    async def _redis(self) -> FleetStatus:
        connection = self._fleet.frontier.connection
        answers, children = False, []
        try:
            memory = await connection.memory()
            answers = True
            children = [entry for entry in await roster.entries(connection) if entry.role == "child"]
            fault = str(FrontierFull(connection.address)) if memory.is_full else None
        except Unavailable as error:
            fault = str(error)
        return FleetStatus(answers, fault, memory.used_bytes if answers else 0, at_work=self._at_work(children))

    def _jobs(self) -> tuple[str | None, int]:
        try:
            return None, len(unfinished_jobs(self._fleet.store))
        except Unavailable as fault:
            return str(fault), 0

    def _at_work(self, children: list[roster.RosterEntry]) -> list[AtWork]:
        now = time.monotonic()
        self._ended = {entry.id: self._ended.get(entry.id, deque()) for entry in children}
        return [AtWork(entry, _rate(self._ended[entry.id], now, entry.ended)) for entry in children]


def _rate(history: deque[tuple[float, int]], now: float, ended: int) -> float:
    history.append((now, ended))
    while len(history) > 2 and now - history[0][0] > RATE_WINDOW_S:
        history.popleft()
    then, ended_then = history[0]
    return (ended - ended_then) / (now - then) if now > then else 0.0
