"""How all jobs of a fleet went together: added up by ten minutes of the last day."""

from __future__ import annotations

from shoal.model import JobSpec, JobState
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.results.fleet_series import DAY_S, fleet_series
from shoal.store.results.time_series import Point
from shoal.store.store import Store
from shoal.store.tables import series

PERIOD_S = 600
START = 1_700_000_400
"""A full ten minutes."""
NOW = START + 3 * PERIOD_S - 300


def run(store: Store, job: str, *points: Point, owner: str | None = None, ended: float | None = None) -> None:
    create_job(store, job, lambda: JobSpec(job), [], START, fleet=True, owner=owner)
    set_state(store, job, JobState.RUNNING, START)
    if ended is not None:
        set_state(store, job, JobState.DONE, ended)
    rows = [
        {"job": job, "at": p.at, "seconds": p.seconds, "pages": p.pages, "by_status": by_status(p), "bytes": p.bytes}
        | {"items": p.items, "p50_ms": p.p50_ms, "p95_ms": p.p95_ms, "queue": p.queue}
        for p in points
    ]
    with store.write() as db:
        db.execute(series.insert(), rows)


def by_status(point: Point) -> str:
    return "{" + ", ".join(f'"{status}": {n}' for status, n in (point.by_status or {}).items()) + "}"


def test_the_rows_of_all_jobs_of_the_last_day_are_added_up(store: Store) -> None:
    a_later = Point(START + 60, 60, 30, {"200": 30}, 0, 0, 20, 80, 7)
    run(store, "a", Point(START, 60, 10, {"200": 10}, 100, 1, 20, 90, 5), a_later)
    run(store, "b", Point(START, 60, 10, {"200": 8, "404": 2}, 50, 2, 40, 70, 1), ended=START + 500.0)
    run(store, "early", Point(START - 100 * PERIOD_S, 60, 6, {"200": 6}))
    run(store, "late", Point(START + 2 * PERIOD_S, 240, 24, {"503": 24}, 9), owner="ann")
    run(store, "old", Point(START - DAY_S, 60, 99, {"200": 99}), ended=START - DAY_S + 60.0)
    early, *_, first, quiet, last = fleet_series(store, NOW)
    assert early == Point(START - 100 * PERIOD_S, PERIOD_S, 6, {"200": 6})
    assert first == Point(START, PERIOD_S, 50, {"200": 48, "404": 2}, 150, 3, 24, 90, 7)
    assert quiet == Point(START + PERIOD_S, PERIOD_S, by_status={})
    assert last == Point(START + 2 * PERIOD_S, 240, 24, {"503": 24}, 9)
    assert [point.pages for point in fleet_series(store, NOW, "ann")] == [24]


def test_a_job_of_many_days_makes_the_periods_longer(store: Store) -> None:
    run(store, "long", Point(START - START % 1200, 960, 96, {"200": 96}))
    (only,) = fleet_series(store, NOW)
    assert (only.seconds, only.pages, only.by_status) == (960, 96, {"200": 96})


def test_a_young_fleet_has_a_point_a_minute(store: Store) -> None:
    run(store, "new", Point(START, 60, 6, {"200": 6}), Point(START + 60, 60, 9, {"200": 9}))
    assert [(point.at, point.pages) for point in fleet_series(store, NOW)] == [(START, 6), (START + 60, 9)]


def test_a_fleet_without_rows_has_no_points(store: Store) -> None:
    assert fleet_series(store, NOW) == []
