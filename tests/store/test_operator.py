"""What an operator or a caller changes: specs of jobs by version, exclusions, words on hosts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shoal.errors import UnknownJob, UsageError
from shoal.model import JobSpec, JobState
from shoal.store.exclusions import current_exclusions, replace_exclusions, stored_exclusions
from shoal.store.hosts import Word, change_word, stored_words
from shoal.store.jobs import change_spec, load_job, note_told, reopen_ended, set_state
from shoal.store.store import Store
from tests.store.make import JOB, job_with


def test_of_many_changes_at_once_each_is_made_to_what_the_others_left(store: Store) -> None:
    job_with(store)

    def add(n: int) -> None:
        change_spec(store, JOB, lambda spec: replace(spec, exclude=(*spec.exclude, str(n))), None, 2.0)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(8)))
    job = load_job(store, JOB)
    assert sorted(job.spec.exclude) == [str(n) for n in range(8)]
    assert (job.version, job.told) == (9, 1)
    note_told(store, JOB, 9)
    assert load_job(store, JOB).told == 9


def test_a_change_to_another_version_is_not_made(store: Store) -> None:
    job_with(store)
    assert change_spec(store, JOB, lambda spec: replace(spec, priority=1), 2, 2.0) is None
    changed = change_spec(store, JOB, lambda spec: replace(spec, priority=1), 1, 2.0)
    assert changed and changed.version == 2
    assert load_job(store, JOB).spec.priority == 1


def test_what_has_ended_or_is_not_there_cannot_be_changed(store: Store) -> None:
    def same(spec: JobSpec) -> JobSpec:
        return spec

    with pytest.raises(UnknownJob):
        change_spec(store, JOB, same, None, 2.0)
    job_with(store)
    set_state(store, JOB, JobState.DONE, 1.0)
    with pytest.raises(UsageError, match="done"):
        change_spec(store, JOB, same, None, 2.0)


def test_exclusions_are_replaced_as_a_whole_in_their_order(store: Store) -> None:
    replace_exclusions(store, ["b.test", "a.test"])
    replace_exclusions(store, ["c.test", "", "a.test"])
    assert stored_exclusions(store) == ["c.test", "", "a.test"]
    replace_exclusions(store, [])
    assert stored_exclusions(store) == []


def test_exclusions_are_replaced_only_in_the_version_that_was_seen(store: Store) -> None:
    assert current_exclusions(store) == (0, [])
    assert replace_exclusions(store, ["a.test"], 0) == (1, ["a.test"])
    assert replace_exclusions(store, ["b.test"], 0) is None
    assert current_exclusions(store) == (1, ["a.test"])
    assert replace_exclusions(store, [], 1) == (2, [])


def test_of_many_who_add_an_exclusion_at_once_none_is_lost(store: Store) -> None:
    def add(line: str) -> None:
        while True:
            seen = current_exclusions(store)
            if replace_exclusions(store, [*seen.lines, line], seen.version):
                return

    lines = [f"{n}.test" for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, lines))
    assert sorted(stored_exclusions(store)) == lines and current_exclusions(store).version == 8


def test_the_last_word_on_a_host_stands(store: Store) -> None:
    change_word(store, "a.test", {"rate": 0.5})
    change_word(store, "b.test", {"paused": True})
    assert change_word(store, "a.test", {"rate": 2.0}) == Word("a.test", 2.0, False)
    assert change_word(store, "a.test", {"paused": True}) == Word("a.test", 2.0, True), "the rate was not spoken of"
    assert stored_words(store) == [Word("a.test", 2.0, True), Word("b.test", None, True)]
    change_word(store, "b.test", {"paused": False})
    assert change_word(store, "c.test", {}) == Word("c.test", None, False)
    assert stored_words(store) == [Word("a.test", 2.0, True)]


@pytest.mark.parametrize(
    ("state", "becomes"),
    [
        (JobState.DONE, JobState.RUNNING),
        (JobState.LIMITED, JobState.RUNNING),
        (JobState.PAUSED, JobState.PAUSED),
        (JobState.QUEUED, JobState.QUEUED),
        (JobState.CANCELLED, JobState.CANCELLED),
    ],
)
def test_only_a_job_that_has_ended_and_was_not_cancelled_is_reopened(
    store: Store, state: JobState, becomes: JobState
) -> None:
    job_with(store)
    set_state(store, JOB, state, 1.0)
    assert reopen_ended(store, JOB, JobState.RUNNING, 2.0) == (state is not JobState.CANCELLED)
    assert load_job(store, JOB).state is becomes
