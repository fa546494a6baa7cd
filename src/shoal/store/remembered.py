"""What the fetcher remembers between runs: robots.txt by origin, and the cookies of a job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from shoal.store.store import Store
from shoal.store.tables import cookies, robots
from shoal.store.upsert import Upsert, replace

_ROBOTS = Upsert(robots, replace)
_COOKIES = Upsert(cookies, replace)


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    origin: str
    status: int | None
    """None: the origin did not answer."""
    body: bytes
    fetched_at: float


def save_robots(store: Store, record: RobotsRecord) -> None:
    with store.write() as db:
        _ROBOTS.write(db, [(record.origin, record.status, record.body, record.fetched_at)])


def load_robots(store: Store, origin: str) -> RobotsRecord | None:
    with store.read() as db:
        row = db.execute(select(robots).where(robots.c.origin == origin)).one_or_none()
    return RobotsRecord(**row._mapping) if row else None


def save_cookies(store: Store, job: str, lines: Sequence[str]) -> None:
    """Replaces the job's cookies; the lines are the fetcher's own."""
    with store.write() as db:
        _COOKIES.write(db, [(job, json.dumps(list(lines)))])


def load_cookies(store: Store, job: str) -> list[str]:
    with store.read() as db:
        lines = db.execute(select(cookies.c.lines).where(cookies.c.job == job)).scalar_one_or_none()
    return list(json.loads(lines)) if lines is not None else []
