from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shoal.errors import UsageError
from shoal.fleet.schedules import Template
from shoal.model import JobState
from shoal.store.fleet.schedules import (
    CLAIM_S,
    KEPT_S,
    Overlap,
    Run,
    RunState,
    Schedule,
    add_run,
    add_schedule,
    change_schedule,
    claim_run,
    due_runs,
    due_schedules,
    end_run,
    find_schedule,
    last_runs,
    list_schedules,
    note_tick,
    remove_schedule,
    scrapy_schedules,
    unfinished_job,
)
from shoal.store.job_state import set_state
from shoal.store.store import Store
from tests.store.make import JOB, job_with

SCHEDULE = Schedule("s1", "news", "0 * * * *", "UTC", Overlap.SKIP, "{}", False, 1.0, 100.0)
RUN = Run("s1", 100.0, JOB, RunState.DUE, 2)


def test_a_schedule_is_found_by_its_name_or_id_and_removed_with_its_runs(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    assert find_schedule(store, "news") == find_schedule(store, "s1") == SCHEDULE
    assert list_schedules(store) == [SCHEDULE]
    with pytest.raises(UsageError, match="already"):
        add_schedule(store, replace(SCHEDULE, id="s2"))
    add_run(store, RUN)
    remove_schedule(store, "s1")
    assert find_schedule(store, "news") is None and last_runs(store, "s1", 5) == []


def test_schedules_of_scrapy_projects_are_found_among_all(store: Store) -> None:
    add_schedule(store, replace(SCHEDULE, job=Template(["https://example.com/"]).to_json()))
    assert scrapy_schedules(store) == []
    scrapy = replace(SCHEDULE, id="s2", name="spiders", job=Template(scrapy={"spider": "daily"}).to_json())
    add_schedule(store, scrapy)
    assert scrapy_schedules(store) == [scrapy]


def test_only_one_of_many_processes_turns_a_tick_into_a_run(store: Store) -> None:
    add_schedule(store, SCHEDULE)

    def note(n: int) -> bool:
        return note_tick(store, SCHEDULE, replace(RUN, tick=100.0 + n, job=f"j{n}"), 200.0)

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(note, range(4))) == [False, False, False, True]
    assert len(last_runs(store, "s1", 5)) == 1
    assert due_schedules(store, 199.0) == [] and len(due_schedules(store, 200.0)) == 1


def test_a_paused_schedule_has_no_ticks(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    change_schedule(store, "s1", lambda _: {"paused": True})
    assert due_schedules(store, 200.0) == []
    assert not note_tick(store, SCHEDULE, RUN, 200.0)


def test_a_run_has_one_claim_until_its_process_counts_as_dead(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    add_run(store, RUN)
    assert due_runs(store) == [(SCHEDULE, RUN)]
    assert claim_run(store, RUN, 100.0)
    assert not claim_run(store, RUN, 101.0)
    assert claim_run(store, RUN, 101.0 + CLAIM_S)
    end_run(store, RUN, RunState.BEGUN)
    assert due_runs(store) == [] and not claim_run(store, RUN, 1_000.0)


def test_a_schedule_names_its_unfinished_job_until_that_has_ended(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    add_run(store, RUN)
    assert unfinished_job(store, "s1") is None
    job_with(store, fleet=True)
    assert unfinished_job(store, "s1") == JOB
    set_state(store, JOB, JobState.DONE, 5.0)
    assert unfinished_job(store, "s1") is None


def test_old_runs_are_deleted(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    add_run(store, RUN)
    assert note_tick(store, SCHEDULE, replace(RUN, tick=101.0 + KEPT_S), 2 * KEPT_S)
    assert [run.tick for run in last_runs(store, "s1", 5)] == [101.0 + KEPT_S]
