"""How a job went over time: pages, statuses, bytes, items, latency and queue, a row for each minute.

Rows are counted from the stored pages, so a process that was killed leaves no gap. Only the queue is a snapshot. A job
has at most MOST_ROWS rows: when they would be more, each two neighbours become one, and later rows last twice as long.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sqlalchemy import BigInteger, Connection, and_, case, cast, delete, func, select

from shoal.store.database.upsert import Upsert
from shoal.store.database.upsert import replace as replace_row
from shoal.store.store import Store
from shoal.store.tables import items, pages, series

MINUTE_S = 60
MOST_ROWS = 480
SETTLE_S = 10
"""A minute is recorded this long after its end: its last pages are saved by then."""
_ROWS = Upsert(series, replace_row)


@dataclass(frozen=True, slots=True)
class Point:
    """What happened in `seconds` from `at` on."""

    at: int
    seconds: int
    pages: int = 0
    by_status: dict[str, int] | None = None
    bytes: int = 0
    items: int = 0
    p50_ms: int | None = None
    """The median time of an answer; of merged rows, the mean of their medians. None without pages."""
    p95_ms: int | None = None
    """Of merged rows, the highest."""
    queue: int | None = None
    """Requests queued and in flight at the end; None if nobody looked."""

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.seconds


def record_series(store: Store, job: str, now: float, queue: int) -> None:
    """Records the time since the last call up to the last full minute. Call it about once a minute."""
    with store.read() as db:
        since, seconds = _recorded(db, job)
        until = int(now - SETTLE_S) // seconds * seconds
        if since is None or until <= since:
            return
        # PostgreSQL rounds times to milliseconds: the last half millisecond would count for the next period.
        points = _count(db, job, since, until - 0.001, seconds)
    last = until - seconds
    if not points or points[-1].at != last:
        # A job that runs and fetches nothing has a row, too; one that did not run has none.
        points.append(Point(last, seconds, by_status={}))
    points[-1] = replace(points[-1], queue=queue)
    with store.write() as db:
        _ROWS.write(db, [_row(job, point) for point in points])
        _merge_if_many(db, job)


def read_series(store: Store, job: str, now: float) -> list[Point]:
    """Oldest first; the last one reaches to `now`, which is the end of a job that has ended."""
    with store.read() as db:
        stored = [_point(row) for row in db.execute(_rows_of(job))]
        since, seconds = _recorded(db, job)
        if since is None or now <= since:
            return stored
        tail = _count(db, job, since, now, seconds)
    return stored + [replace(point, seconds=max(1, min(seconds, int(now) - point.at))) for point in tail]


def _recorded(db: Connection, job: str) -> tuple[int | None, int]:
    """Where the next row begins, None before the first page; and how long it lasts."""
    last = db.execute(_rows_of(job).order_by(None).order_by(series.c.at.desc()).limit(1)).one_or_none()
    if last is not None:
        return last.at + last.seconds, last.seconds
    first = db.execute(select(func.min(pages.c.fetched_at)).where(pages.c.job == job)).scalar()
    return (None if first is None else int(first) // MINUTE_S * MINUTE_S), MINUTE_S


def _count(db: Connection, job: str, since: int, until: float, seconds: int) -> list[Point]:
    """A point for each period with pages."""
    in_time = and_(pages.c.job == job, pages.c.fetched_at >= since, pages.c.fetched_at < until)
    # In whole milliseconds: both databases divide integers without rounding.
    period = (cast((pages.c.fetched_at - since) * 1000, BigInteger) // (seconds * 1000)).label("period")
    points: dict[int, Point] = {}
    counts = select(period, pages.c.status, func.count(), cast(func.sum(pages.c.bytes), BigInteger)).where(in_time)
    for nth, status, n, size in db.execute(counts.group_by("period", pages.c.status)):
        point = points.get(nth, Point(since + nth * seconds, seconds, by_status={}))
        statuses = {**(point.by_status or {}), str(status): n}
        points[nth] = replace(point, pages=point.pages + n, by_status=statuses, bytes=point.bytes + size)
    for nth, p50, p95 in db.execute(_latencies(period, in_time)):
        points[nth] = replace(points[nth], p50_ms=p50, p95_ms=p95)
    of_pages = select(period, func.count()).join(items, (items.c.job == pages.c.job) & _is_item_of_page)
    for nth, n in db.execute(of_pages.where(in_time).group_by("period")):
        points[nth] = replace(points[nth], items=n)
    return [points[nth] for nth in sorted(points)]


_is_item_of_page = items.c.page == pages.c.fingerprint


def _latencies(period: Any, in_time: Any) -> Any:
    rank = func.row_number().over(partition_by=period, order_by=pages.c.duration_ms)
    total = func.count().over(partition_by=period)
    ranked = select(period, pages.c.duration_ms.label("ms"), rank.label("rank"), total.label("total"))
    of = ranked.where(in_time).subquery()
    p50 = func.min(case((of.c.rank * 2 >= of.c.total, of.c.ms)))
    p95 = func.min(case((of.c.rank * 100 >= of.c.total * 95, of.c.ms)))
    return select(of.c.period, p50, p95).group_by(of.c.period)


def _merge_if_many(db: Connection, job: str) -> None:
    points = [_point(row) for row in db.execute(_rows_of(job))]
    if len(points) <= MOST_ROWS:
        return
    while len(points) > MOST_ROWS:
        points = _merged(points)
    db.execute(delete(series).where(series.c.job == job))
    _ROWS.write(db, [_row(job, point) for point in points])


def _merged(points: Sequence[Point]) -> list[Point]:
    """Without the last row if the time of its neighbour is still to come: both will be counted as one."""
    end = points[-1].at + points[-1].seconds
    seconds = 2 * points[-1].seconds
    pairs = groupby(points, lambda point: point.at // seconds * seconds)
    return [sum_of(at, seconds, list(some)) for at, some in pairs if at + seconds <= end]


def sum_of(at: int, seconds: int, some: Sequence[Point]) -> Point:
    """What happened in all of these periods, as one."""
    statuses: Counter[str] = Counter()
    for point in some:
        statuses.update(point.by_status or {})
    fetched = sum(point.pages for point in some)
    medians = sum((point.p50_ms or 0) * point.pages for point in some)
    return Point(
        at,
        seconds,
        fetched,
        dict(statuses),
        sum(point.bytes for point in some),
        sum(point.items for point in some),
        round(medians / fetched) if fetched else None,
        max((point.p95_ms for point in some if point.p95_ms is not None), default=None),
        some[-1].queue,
    )


def _rows_of(job: str) -> Any:
    return select(series).where(series.c.job == job).order_by(series.c.at)


def _row(job: str, point: Point) -> tuple[Any, ...]:
    counts = point.pages, json.dumps(point.by_status or {}), point.bytes, point.items
    return job, point.at, point.seconds, *counts, point.p50_ms, point.p95_ms, point.queue


def _point(row: Any) -> Point:
    values = {name: value for name, value in row._mapping.items() if name != "job"}
    return Point(**{**values, "by_status": json.loads(values["by_status"])})
