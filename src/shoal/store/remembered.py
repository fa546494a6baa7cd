"""What the fetchers of a job or a fleet remember together: robots.txt by origin, and the cookies of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from shoal.store.among import among
from shoal.store.store import Store
from shoal.store.tables import cookies, robots
from shoal.store.text import storable_row
from shoal.store.upsert import Upsert, insert_into, replace

_ROBOTS = Upsert(robots, replace)
_COOKIES = Upsert(cookies, replace)
_HTTP_ONLY = "#HttpOnly_"
_ORIGINS_AT_ONCE = 500


class RobotsRecord(NamedTuple):
    origin: str
    status: int | None
    """None: the origin did not answer."""
    body: bytes
    fetched_at: float


def save_robots(store: Store, record: RobotsRecord) -> None:
    # Still claimed: whoever looked for it just before would otherwise ask once more.
    asked_at = record.fetched_at
    with store.write() as db:
        _ROBOTS.write(db, [(record.origin, record.status, record.body, record.fetched_at, asked_at)])


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
        asked = select(*columns).where(among(db.dialect.name, robots.c.origin, "origins"))
        for start in range(0, len(origins), _ORIGINS_AT_ONCE):
            for row in db.execute(asked, {"origins": list(origins[start : start + _ORIGINS_AT_ONCE])}):
                found[row.origin] = None if row.fetched_at is None else RobotsRecord(*row)
    return found


def claim_robots(store: Store, origin: str, now: float, for_s: float) -> bool:
    """Whether the caller is to ask for this robots.txt: if so, nobody else is for so many seconds."""
    # A distance, because the one who claimed it may have a clock that is hours ahead.
    is_over = or_(robots.c.asked_at.is_(None), func.abs(robots.c.asked_at - now) >= for_s)
    with store.write() as db:
        claim = insert_into(db, robots).values(origin=origin, body=b"", asked_at=now)
        taken = claim.on_conflict_do_update(index_elements=[robots.c.origin], set_={"asked_at": now}, where=is_over)
        return db.execute(taken.returning(robots.c.origin)).first() is not None


def disclaim_robots(store: Store, origin: str) -> None:
    """For one who asked and got no answer: the next may ask at once."""
    with store.write() as db:
        db.execute(update(robots).where(robots.c.origin == origin).values(asked_at=None))


def save_cookies(store: Store, job: str, lines: Sequence[str]) -> None:
    """Each takes the place of the one with its domain, path and name; the lines are those of libcurl."""
    rows = {row[:4]: row for row in (storable_row(_cookie_row(job, line)) for line in lines)}
    # In one order for all, or two workers that save some of the same would wait for each other.
    store.change(lambda db: _COOKIES.write(db, [rows[key] for key in sorted(rows)]))


def forget_cookies(store: Store, job: str, keys: Sequence[tuple[str, str, str]]) -> None:
    """By domain, path and name."""
    c = cookies.c
    these = and_(
        c.job == bindparam("of"), c.domain == bindparam("d"), c.path == bindparam("p"), c.name == bindparam("n")
    )
    rows = [storable_row((job, *key)) for key in keys]
    wanted = [dict(zip(("of", "d", "p", "n"), row, strict=True)) for row in sorted(rows)]
    store.change(lambda db: db.execute(delete(cookies).where(these), wanted))


def load_cookies(store: Store, job: str) -> list[str]:
    of_job = select(cookies.c.line).where(cookies.c.job == job)
    with store.read() as db:
        return list(db.execute(of_job.order_by(cookies.c.domain, cookies.c.path, cookies.c.name)).scalars())


def _cookie_row(job: str, line: str) -> tuple[str, ...]:
    domain, _, path, _, _, name, _ = line.split("\t")
    return job, domain.removeprefix(_HTTP_ONLY), path, name, line
