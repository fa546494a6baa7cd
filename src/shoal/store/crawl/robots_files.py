"""The robots.txt files that a crawl or a fleet has fetched, by origin, and which worker fetches one that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, func, or_, select, update

from shoal.store.database.in_list import in_list
from shoal.store.database.upsert import Upsert, insert_into, replace
from shoal.store.store import Store
from shoal.store.tables import robots

_ROBOTS = Upsert(robots, replace)
_ORIGINS_AT_ONCE = 500


class RobotsRecord(NamedTuple):
    origin: str
    status: int | None
    """None: the origin did not answer."""
    body: bytes
    fetched_at: float


def save_robots(store: Store, records: Sequence[RobotsRecord]) -> None:
    """At most one of each origin."""
    # Still claimed: whoever looked for it just before would otherwise ask once more.
    rows = [(each.origin, each.status, each.body, each.fetched_at, each.fetched_at) for each in _in_order(records)]
    with store.write() as db:
        _ROBOTS.write(db, rows)


def load_robots(store: Store, origin: str) -> RobotsRecord | None:
    """None while nobody has saved it."""
    columns = (robots.c.origin, robots.c.status, robots.c.body, robots.c.fetched_at)
    saved = select(*columns).where(robots.c.origin == origin, robots.c.fetched_at.is_not(None))
    with store.read() as db:
        row = db.execute(saved).one_or_none()
    return RobotsRecord(*row) if row else None


def robots_asked_for(store: Store, origins: Sequence[str]) -> dict[str, RobotsRecord | None]:
    """Those of these origins whose robots.txt was asked for; None: it has not been had."""
    columns = (robots.c.origin, robots.c.status, robots.c.body, robots.c.fetched_at)
    found: dict[str, RobotsRecord | None] = {}
    with store.read() as db:
        asked = select(*columns).where(in_list(db.dialect.name, robots.c.origin, "origins"))
        for start in range(0, len(origins), _ORIGINS_AT_ONCE):
            for row in db.execute(asked, {"origins": list(origins[start : start + _ORIGINS_AT_ONCE])}):
                found[row.origin] = None if row.fetched_at is None else RobotsRecord(*row)
    return found


def claim_robots(store: Store, origins: Sequence[str], now: float, for_s: float) -> set[str]:
    """The origins whose robots.txt the caller is to ask for: nobody else is for so many seconds."""
    # A distance, because the one who claimed it may have a clock that is hours ahead.
    is_over = or_(robots.c.asked_at.is_(None), func.abs(robots.c.asked_at - now) >= for_s)
    with store.write() as db:
        claim = insert_into(db, robots).values(origin=bindparam("of"), body=b"", asked_at=now)
        taken = claim.on_conflict_do_update(index_elements=[robots.c.origin], set_={"asked_at": now}, where=is_over)
        mine = taken.returning(robots.c.origin)
        return {origin for origin in sorted(origins) if db.execute(mine, {"of": origin}).first() is not None}


def disclaim_robots(store: Store, origins: Sequence[str]) -> None:
    """For one who asked and got no answer: the next may ask at once."""
    unasked = update(robots).where(robots.c.origin == bindparam("of")).values(asked_at=None)
    with store.write() as db:
        db.execute(unasked, [{"of": origin} for origin in sorted(origins)])


def disclaim_all_robots(store: Store) -> None:
    """After a crawl was killed that may have claimed some. At worst, a file is requested twice."""
    unanswered = robots.c.asked_at.is_not(None) & robots.c.fetched_at.is_(None)
    with store.write() as db:
        db.execute(update(robots).where(unanswered).values(asked_at=None))


def _in_order(records: Sequence[RobotsRecord]) -> list[RobotsRecord]:
    """One order for all: two workers that write some of the same origins would otherwise wait for each other."""
    return sorted(records, key=lambda record: record.origin)
