"""Reads the status of a fleet: its servers, its crawling processes and their rates, and the number of open jobs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from shoal.errors import FrontierFull, Unavailable
from shoal.fleet import roster
from shoal.fleet.fleet import Fleet
from shoal.store.jobs import unfinished_jobs


@dataclass(frozen=True, slots=True)
class FleetStatus:
    redis_answers: bool = False
    redis_fault: str | None = None
    """Why Redis cannot be used. A Redis that answers may be full, or its disk may be; then the roster is empty."""
    redis_bytes: int = 0
    database_fault: str | None = None
    jobs: int = 0
    """Jobs that have not ended."""
    at_work: list[roster.RosterEntry] = field(default_factory=list)
    """The processes that crawl."""


async def read_fleet_status(fleet: Fleet) -> FleetStatus:
    status = await _redis(fleet)
    database_fault, jobs = await asyncio.to_thread(_jobs, fleet)
    return replace(status, database_fault=database_fault, jobs=jobs)


async def _redis(fleet: Fleet) -> FleetStatus:
    connection = fleet.frontier.connection
    answers, children = False, []
    try:
        memory = await connection.memory()
        answers = True
        children = [entry for entry in await roster.entries(connection) if entry.role == "child"]
        fault = str(FrontierFull(connection.address)) if memory.is_full else None
    except Unavailable as error:
        fault = str(error)
    return FleetStatus(answers, fault, memory.used_bytes if answers else 0, at_work=children)


def _jobs(fleet: Fleet) -> tuple[str | None, int]:
    try:
        return None, len(unfinished_jobs(fleet.store))
    except Unavailable as fault:
        return str(fault), 0
