"""A job's figures over time: counted from its pages by the minute, whole after a kill, and bounded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import load_job
from shoal.store.results.time_series import MOST_ROWS, Point, read_series, record_series
from shoal.store.store import Store
from tests.store.make import JOB, item_record, job_with, page

START = 1_700_000_040
"""A full minute."""


@pytest.fixture(autouse=True)
def job(store: Store) -> None:
    job_with(store)


def save_page(store: Store, n: int, at: float, status: int = 200, duration_ms: int = 20, items: int = 0) -> None:
    found = [item_record("Book", {"n": i}) for i in range(items)]
    made = page(n, status=status, duration_ms=duration_ms)
    save(store, Batch(JOB, pages=[replace(made, fetched_at=at, items=found)]))


def test_each_full_minute_is_a_row_with_statuses_items_latency_and_queue(store: Store) -> None:
    for n in range(20):
        save_page(store, n, START + 5 + n, duration_ms=10 * (n + 1), items=n % 2)
    save_page(store, 20, START + 60, status=404)
    save_page(store, 21, START + 125)
    record_series(store, JOB, now=START + 131, queue=7)
    first, second, unfinished = read_series(store, JOB, now=START + 131)
    assert first == Point(START, 60, 20, {"200": 20}, 20_000, 10, p50_ms=100, p95_ms=190)
    assert second == Point(START + 60, 60, 1, {"404": 1}, 1000, 0, p50_ms=20, p95_ms=20, queue=7)
    assert unfinished == Point(START + 120, 11, 1, {"200": 1}, 1000, 0, p50_ms=20, p95_ms=20)
    assert first.pages_per_s == pytest.approx(20 / 60)


def test_a_minute_is_recorded_when_its_last_pages_are_saved(store: Store) -> None:
    save_page(store, 1, START + 59)
    record_series(store, JOB, now=START + 65, queue=1)
    save_page(store, 2, START + 59.5)
    record_series(store, JOB, now=START + 70, queue=0)
    assert [(point.pages, point.queue) for point in read_series(store, JOB, now=START + 70)] == [(2, 0)]


def test_a_killed_process_leaves_no_gap(store: Store) -> None:
    for minute in range(5):
        save_page(store, minute, START + 60 * minute + 30)
    record_series(store, JOB, now=START + 71, queue=4)
    record_series(store, JOB, now=START + 311, queue=0)
    points = read_series(store, JOB, now=START + 311)
    assert [point.pages for point in points] == [1, 1, 1, 1, 1]
    assert [point.queue for point in points] == [4, None, None, None, 0]


def test_a_running_job_without_answers_has_a_row_and_a_paused_one_has_none(store: Store) -> None:
    save_page(store, 1, START)
    record_series(store, JOB, now=START + 70, queue=9)
    record_series(store, JOB, now=START + 130, queue=9)
    # Paused here for an hour.
    save_page(store, 2, START + 3600)
    record_series(store, JOB, now=START + 3670, queue=8)
    points = read_series(store, JOB, now=START + 3670)
    assert [(point.at - START, point.pages) for point in points] == [(0, 1), (60, 0), (3600, 1)]


def test_a_long_job_keeps_a_bounded_number_of_rows_and_every_page(store: Store) -> None:
    minutes = MOST_ROWS + 10
    fetched = [page(minute, duration_ms=minute % 7, fetched_at=START + 60.0 * minute) for minute in range(minutes)]
    save(store, Batch(JOB, pages=fetched))
    for minute in (*range(0, MOST_ROWS, 100), MOST_ROWS, MOST_ROWS + 1):
        record_series(store, JOB, now=START + 60 * minute + 71, queue=minute)
    record_series(store, JOB, now=START + 60 * minutes + 600, queue=0)
    points = read_series(store, JOB, now=START + 60 * minutes + 600)
    assert len(points) <= MOST_ROWS
    assert sum(point.pages for point in points) == minutes
    assert {point.seconds for point in points} == {120}
    assert all(
        point.at % 120 == 0 and point.p95_ms is not None and point.p95_ms <= 6 for point in points if point.pages
    )


def test_a_job_without_pages_has_no_series(store: Store) -> None:
    record_series(store, JOB, now=START, queue=3)
    assert read_series(store, JOB, now=load_job(store, JOB).created_at + 1e6) == []
