"""How all jobs of a fleet went together over the last day, added up from the rows of `series`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import JSON, BigInteger, Connection, Subquery, cast, func, or_, select, true

from shoal.store.owned_jobs import owned_by
from shoal.store.results.time_series import Point
from shoal.store.store import Store
from shoal.store.tables import jobs, series

DAY_S = 86_400
PERIODS_S = (60, 120, 300, 600)
MOST_POINTS = 150


def fleet_series(store: Store, now: float, owner: str | None = None) -> list[Point]:
    """What happened in each period of the last day, oldest first; only of this owner's jobs if an owner is given.

    A period lasts one to ten minutes, and longer while a job of many days has longer rows. `p50_ms` is the mean of the
    jobs' medians, and `queue` the sum of their mean queues. The last point ends with the last row. Empty if there is no
    row.
    """
    since = int(now) - DAY_S
    recent = or_(jobs.c.finished_at.is_(None), jobs.c.finished_at >= since)
    of_jobs = select(series).join(jobs, jobs.c.id == series.c.job)
    found = of_jobs.where(jobs.c.fleet, recent, owned_by(owner), series.c.at >= since).subquery()
    with store.read() as db:
        ends = func.min(found.c.at), func.max(found.c.at + found.c.seconds), func.max(found.c.seconds)
        begin, end, longest = db.execute(select(*ends)).one()
        if longest is None:
            return []
        period = _period(end - begin, longest)
        rows = select(found, (found.c.at // period).label("nth")).subquery()
        statuses, queues = _statuses(db, rows), _queues(db, rows)
        points = [_point(row, period, statuses, queues) for row in db.execute(_sums(rows))]
    return _with_quiet_times(points, period, end)


def _period(whole: int, longest: int) -> int:
    """`longest` is the length of the longest row: it must not count for a shorter time."""
    fitting = (period for period in PERIODS_S if period >= longest and whole <= MOST_POINTS * period)
    return next(fitting, -(-longest // PERIODS_S[-1]) * PERIODS_S[-1])


def _sums(rows: Subquery) -> Any:
    c = rows.c
    summed = {"pages": c.pages, "bytes": c.bytes, "found": c["items"], "medians": c.p50_ms * c.pages}
    counts = [cast(func.sum(column), BigInteger).label(name) for name, column in summed.items()]
    return select(c.nth, *counts, func.max(c.p95_ms).label("p95_ms")).group_by(c.nth).order_by(c.nth)


def _statuses(db: Connection, rows: Subquery) -> dict[int, dict[str, int]]:
    """By period, the number of pages of each status."""
    if db.dialect.name == "postgresql":
        each = func.json_each_text(cast(rows.c.by_status, JSON)).table_valued("key", "value")
    else:
        each = func.json_each(rows.c.by_status).table_valued("key", "value")
    counts = select(rows.c.nth, each.c.key, cast(func.sum(cast(each.c.value, BigInteger)), BigInteger))
    found: dict[int, dict[str, int]] = {}
    for nth, status, n in db.execute(counts.join(each, true()).group_by(rows.c.nth, each.c.key).order_by(each.c.key)):
        found.setdefault(nth, {})[status] = n
    return found


def _queues(db: Connection, rows: Subquery) -> dict[int, int]:
    of_jobs = select(rows.c.nth, func.avg(rows.c.queue).label("queue")).group_by(rows.c.nth, rows.c.job).subquery()
    total = cast(func.sum(of_jobs.c.queue), BigInteger)
    sums = db.execute(select(of_jobs.c.nth, total).group_by(of_jobs.c.nth))
    return {row[0]: row[1] for row in sums}


def _point(row: Any, period: int, statuses: Mapping[int, dict[str, int]], queues: Mapping[int, int]) -> Point:
    median = round(row.medians / row.pages) if row.pages and row.medians is not None else None
    counts = row.pages, statuses.get(row.nth, {}), row.bytes, row.found
    return Point(row.nth * period, period, *counts, median, row.p95_ms, queues.get(row.nth))


def _with_quiet_times(points: Sequence[Point], period: int, end: int) -> list[Point]:
    """Periods without a row between others have a point, too."""
    known = {point.at: point for point in points}
    ats = range(points[0].at, points[-1].at + 1, period)
    all_points = [known.get(at, Point(at, period, by_status={})) for at in ats]
    return [*all_points[:-1], replace(all_points[-1], seconds=max(1, min(period, end - all_points[-1].at)))]
