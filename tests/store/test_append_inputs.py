"""Inputs appended to a job follow the existing lines, name each request once, and are never lost when the job ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from shoal.errors import UnknownJob
from shoal.model import Input, JobSpec, JobState
from shoal.store.crawl.append_inputs import append_inputs
from shoal.store.crawl.input_report import input_report
from shoal.store.crawl.inputs import seed_targets
from shoal.store.job_changes import mark_seeded
from shoal.store.job_state import end_if_seeded, set_state, set_state_unless_ended
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store
from shoal.urls import Params, target

JOB = "j1"


def url(number: int, line: int) -> Input:
    spelt = f"https://example.com/{number}"
    return Input(line, spelt, target(spelt, Params(), "host"))


def bad(line: int) -> Input:
    return Input(line, "mailto:x", None, "not_http")


def a_job(store: Store, *given: Input) -> None:
    create_job(store, JOB, lambda: JobSpec(name="shop"), given, 1.0, fleet=True)


def numbered(store: Store) -> list[tuple[int, str, int | None]]:
    return [(row["line"], row["url"], row["duplicate_of"]) for row in input_report(store, JOB)]


def test_appended_lines_follow_the_existing_ones_and_keep_their_distances(store: Store) -> None:
    a_job(store, url(1, 1), bad(2))
    assert append_inputs(store, JOB, [url(2, 3), url(3, 7)], None, 2.0) == (2, 2, 0)
    assert append_inputs(store, JOB, [url(4, 9)], 2, 2.0) == (2, 1, 0)
    assert append_inputs(store, JOB, [url(5, 1)], None, 2.0) == (11, 1, 0)
    # Another client has appended since the previous part.
    assert append_inputs(store, JOB, [url(6, 10)], 2, 2.0) == (3, 1, 0)
    assert [line for line, *_ in numbered(store)] == [1, 2, 5, 9, 11, 12, 13]


def test_each_request_counts_as_new_once_within_and_across_parts(store: Store) -> None:
    a_job(store, url(1, 1))
    part = append_inputs(store, JOB, [url(1, 1), url(2, 2), url(2, 3), bad(4)], None, 2.0)
    assert part == (1, 1, 2)
    assert numbered(store) == [
        (1, "https://example.com/1", None),
        (2, "https://example.com/1", 1),
        (3, "https://example.com/2", None),
        (4, "https://example.com/2", 3),
        (5, "mailto:x", None),
    ]
    assert [given.line for given in seed_targets(store, JOB, 0, 10)] == [1, 3]


def test_a_job_is_seeded_only_after_its_last_input_was_offered(store: Store) -> None:
    a_job(store, url(1, 1), bad(2))
    mark_seeded(store, JOB, 1)
    assert load_job(store, JOB).seeded
    append_inputs(store, JOB, [url(2, 1)], None, 2.0)
    assert not load_job(store, JOB).seeded
    # The process that offered the first one did not know about the second.
    mark_seeded(store, JOB, 1)
    assert not load_job(store, JOB).seeded and load_job(store, JOB).offered_line == 1
    mark_seeded(store, JOB, 3)
    assert load_job(store, JOB).seeded


def test_appending_only_duplicates_does_not_change_the_job(store: Store) -> None:
    a_job(store, url(1, 1))
    mark_seeded(store, JOB)
    append_inputs(store, JOB, [url(1, 1), bad(2)], None, 2.0)
    assert load_job(store, JOB).seeded


def test_a_job_with_new_inputs_does_not_end(store: Store) -> None:
    a_job(store, url(1, 1))
    mark_seeded(store, JOB)
    append_inputs(store, JOB, [url(2, 1)], None, 2.0)
    assert not end_if_seeded(store, JOB, JobState.DONE, 3.0, None)
    assert load_job(store, JOB).state is JobState.QUEUED
    mark_seeded(store, JOB)
    assert end_if_seeded(store, JOB, JobState.DONE, 3.0, None)
    assert load_job(store, JOB).state is JobState.DONE


def test_an_ended_job_accepts_inputs_only_if_reopened_and_a_cancelled_one_never(store: Store) -> None:
    a_job(store, url(1, 1))
    mark_seeded(store, JOB)
    set_state(store, JOB, JobState.DONE, 2.0)
    assert append_inputs(store, JOB, [url(2, 1)], None, 3.0) is None
    assert len(numbered(store)) == 1
    assert append_inputs(store, JOB, [url(2, 1)], None, 3.0, reopening=True) == (1, 1, 0)
    job = load_job(store, JOB)
    assert (job.state, job.finished_at, job.seeded) == (JobState.RUNNING, None, False)
    set_state(store, JOB, JobState.CANCELLED, 4.0)
    assert append_inputs(store, JOB, [url(3, 1)], None, 5.0, reopening=True) is None


def test_a_removed_job_is_unknown(store: Store) -> None:
    with pytest.raises(UnknownJob, match="removed"):
        append_inputs(store, "gone", [], None, 2.0)
    with pytest.raises(UnknownJob, match="removed"):
        set_state_unless_ended(store, "gone", JobState.CANCELLED, 2.0)


def test_concurrent_appends_lose_nothing(store: Store) -> None:
    a_job(store, url(0, 1))

    def append(who: int) -> None:
        offset = None
        for start in range(0, 50, 10):
            given = [url(who * 1000 + number, number + 1) for number in range(start, start + 9)]
            part = append_inputs(store, JOB, [*given, url(7_000_000, start + 10)], offset, 2.0)
            assert part is not None
            offset = part.offset

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(1, 5)))
    rows = numbered(store)
    assert len(rows) == len({line for line, *_ in rows}) == 1 + 4 * 5 * 10
    assert sum(duplicate is None for *_, duplicate in rows) == 1 + 4 * 5 * 9 + 1
