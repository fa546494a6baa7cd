"""The robots.txt files that a crawl or a fleet has fetched, by origin, and which worker fetches one that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoal.store.database.plain_sql import among, first, list_value, run
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store

_ROBOTS = Upsert("robots", replace)
_ORIGINS_AT_ONCE = 500
_FILES = "SELECT origin, status, body, fetched_at FROM robots"


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
    with store.write_plain() as db:
        _ROBOTS.write(db, rows)


def load_robots(store: Store, origin: str) -> RobotsRecord | None:
    """None while nobody has saved it."""
    with store.read_plain() as db:
        row = first(db, f"{_FILES} WHERE origin = :origin AND fetched_at IS NOT NULL", {"origin": origin})
    return RobotsRecord(*row) if row else None


def robots_asked_for(store: Store, origins: Sequence[str]) -> dict[str, RobotsRecord | None]:
    """Those of these origins whose robots.txt was asked for; None: it has not been had."""
    found: dict[str, RobotsRecord | None] = {}
    with store.read_plain() as db:
        asked = f"{_FILES} WHERE {among(db, 'origin', 'origins')}"
        for start in range(0, len(origins), _ORIGINS_AT_ONCE):
            some = list_value(db, origins[start : start + _ORIGINS_AT_ONCE])
            for origin, status, body, fetched_at in run(db, asked, {"origins": some}):
                found[origin] = None if fetched_at is None else RobotsRecord(origin, status, body, fetched_at)
    return found


def claim_robots(store: Store, origins: Sequence[str], now: float, for_s: float) -> set[str]:
    """The origins whose robots.txt the caller is to ask for: nobody else is for so many seconds."""
    # A distance, because the one who claimed it may have a clock that is hours ahead.
    claim = (
        "INSERT INTO robots (origin, body, asked_at) VALUES (:origin, :body, :now) "
        "ON CONFLICT (origin) DO UPDATE SET asked_at = excluded.asked_at "
        "WHERE robots.asked_at IS NULL OR abs(robots.asked_at - excluded.asked_at) >= :for_s RETURNING origin"
    )
    values = {"body": b"", "now": now, "for_s": for_s}
    with store.write_plain() as db:
        return {origin for origin in sorted(origins) if run(db, claim, {**values, "origin": origin})}


def disclaim_robots(store: Store, origins: Sequence[str]) -> None:
    """For one who asked and got no answer: the next may ask at once."""
    with store.write_plain() as db:
        for origin in sorted(origins):
            run(db, "UPDATE robots SET asked_at = NULL WHERE origin = :origin", {"origin": origin})


def disclaim_all_robots(store: Store) -> None:
    """After a crawl was killed that may have claimed some. At worst, a file is requested twice."""
    with store.write_plain() as db:
        run(db, "UPDATE robots SET asked_at = NULL WHERE asked_at IS NOT NULL AND fetched_at IS NULL")


def _in_order(records: Sequence[RobotsRecord]) -> list[RobotsRecord]:
    """One order for all: two workers that write some of the same origins would otherwise wait for each other."""
    return sorted(records, key=lambda record: record.origin)
