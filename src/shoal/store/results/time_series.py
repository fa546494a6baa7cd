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
from typing import TYPE_CHECKING, Any

from shoal.store.database.plain_sql import first, run, value
from shoal.store.database.sqlite_script import columns_of
from shoal.store.database.upsert import Upsert
from shoal.store.database.upsert import replace as replace_row
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Row, Transaction

MINUTE_S = 60
MOST_ROWS = 480
SETTLE_S = 10
"""A minute is recorded this long after its end: its last pages are saved by then."""
_ROWS = Upsert("series", replace_row)
_SERIES = f"SELECT {', '.join(columns_of('series').names)} FROM series WHERE job = :job ORDER BY at"
# In whole milliseconds: both databases divide integers without rounding.
_PERIOD = "CAST((pages.fetched_at - :since) * 1000 AS BIGINT) / :period_ms"
_IN_TIME = "pages.job = :job AND pages.fetched_at >= :since AND pages.fetched_at < :until"
_COUNTS = (
    f"SELECT {_PERIOD}, pages.status, count(*), CAST(sum(pages.bytes) AS BIGINT) FROM pages WHERE {_IN_TIME} "
    "GROUP BY 1, 2"
)
_LATENCIES = (
    "SELECT period, min(CASE WHEN place * 2 >= total THEN duration_ms END), "
    "min(CASE WHEN place * 100 >= total * 95 THEN duration_ms END) FROM ("
    "SELECT period, duration_ms, row_number() OVER (PARTITION BY period ORDER BY duration_ms) AS place, "
    f"count(*) OVER (PARTITION BY period) AS total FROM (SELECT {_PERIOD} AS period, duration_ms FROM pages "
    f"WHERE {_IN_TIME}) AS in_time) AS ranked GROUP BY period"
)
_ITEMS = (
    f"SELECT {_PERIOD}, count(*) FROM pages JOIN items ON items.job = pages.job AND items.page = pages.fingerprint "
    f"WHERE {_IN_TIME} GROUP BY 1"
)


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
    with store.read_plain() as db:
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
    with store.write_plain() as db:
        _ROWS.write(db, [_row(job, point) for point in points])
        _merge_if_many(db, job)


def read_series(store: Store, job: str, now: float) -> list[Point]:
    """Oldest first; the last one reaches to `now`, which is the end of a job that has ended."""
    with store.read_plain() as db:
        stored = [_point(row) for row in run(db, _SERIES, {"job": job})]
        since, seconds = _recorded(db, job)
        if since is None or now <= since:
            return stored
        tail = _count(db, job, since, now, seconds)
    return stored + [replace(point, seconds=max(1, min(seconds, int(now) - point.at))) for point in tail]


def _recorded(db: Transaction, job: str) -> tuple[int | None, int]:
    """Where the next row begins, None before the first page; and how long it lasts."""
    last = first(db, "SELECT at, seconds FROM series WHERE job = :job ORDER BY at DESC LIMIT 1", {"job": job})
    if last is not None:
        at, seconds = last
        return at + seconds, seconds
    began = value(db, "SELECT min(fetched_at) FROM pages WHERE job = :job", {"job": job})
    return (None if began is None else int(began) // MINUTE_S * MINUTE_S), MINUTE_S


def _count(db: Transaction, job: str, since: int, until: float, seconds: int) -> list[Point]:
    """A point for each period with pages."""
    these = {"job": job, "since": since, "until": until, "period_ms": seconds * 1000}
    points: dict[int, Point] = {}
    for nth, status, n, size in run(db, _COUNTS, these):
        point = points.get(nth, Point(since + nth * seconds, seconds, by_status={}))
        statuses = {**(point.by_status or {}), str(status): n}
        points[nth] = replace(point, pages=point.pages + n, by_status=statuses, bytes=point.bytes + size)
    for nth, p50, p95 in run(db, _LATENCIES, these):
        points[nth] = replace(points[nth], p50_ms=p50, p95_ms=p95)
    for nth, n in run(db, _ITEMS, these):
        points[nth] = replace(points[nth], items=n)
    return [points[nth] for nth in sorted(points)]


def _merge_if_many(db: Transaction, job: str) -> None:
    points = [_point(row) for row in run(db, _SERIES, {"job": job})]
    if len(points) <= MOST_ROWS:
        return
    while len(points) > MOST_ROWS:
        points = _merged(points)
    run(db, "DELETE FROM series WHERE job = :job", {"job": job})
    _ROWS.write(db, [_row(job, point) for point in points])


def _merged(points: Sequence[Point]) -> list[Point]:
    """Without the last row if the time of its neighbour is still to come: both will be counted as one."""
    end = points[-1].at + points[-1].seconds
    seconds = 2 * points[-1].seconds
    pairs = groupby(points, lambda point: point.at // seconds * seconds)
    return [merge_points(at, seconds, list(some)) for at, some in pairs if at + seconds <= end]


def merge_points(at: int, seconds: int, some: Sequence[Point]) -> Point:
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


def _row(job: str, point: Point) -> tuple[Any, ...]:
    counts = point.pages, json.dumps(point.by_status or {}), point.bytes, point.items
    return job, point.at, point.seconds, *counts, point.p50_ms, point.p95_ms, point.queue


def _point(row: Row) -> Point:
    _, at, seconds, fetched, by_status, *rest = row
    return Point(at, seconds, fetched, json.loads(by_status), *rest)
