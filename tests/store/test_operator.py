"""Changes by operators and clients: specs of jobs by version, exclusions, overrides of hosts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shoal.errors import UnknownJob, UsageError
from shoal.model import JobSpec, JobState
from shoal.store.fleet.exclusions import current_exclusions, replace_exclusions, stored_exclusions
from shoal.store.fleet.host_overrides import HostOverride, change_override, stored_overrides
from shoal.store.job_changes import change_spec, note_frontier_version
from shoal.store.job_state import reopen_ended, set_state
from shoal.store.jobs import load_job
from shoal.store.store import Store
from tests.store.make import JOB, job_with


def test_concurrent_changes_build_on_each_other(store: Store) -> None:
    job_with(store)

    def add(n: int) -> None:
        change_spec(store, JOB, lambda spec: replace(spec, exclude=(*spec.exclude, str(n))), None, 2.0)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(8)))
    job = load_job(store, JOB)
    assert sorted(job.spec.exclude) == [str(n) for n in range(8)]
    assert (job.version, job.frontier_version) == (9, 1)
    note_frontier_version(store, JOB, 9)
    assert load_job(store, JOB).frontier_version == 9


def test_a_change_to_an_outdated_version_is_refused(store: Store) -> None:
    job_with(store)
    assert change_spec(store, JOB, lambda spec: replace(spec, priority=1), 2, 2.0) is None
    changed = change_spec(store, JOB, lambda spec: replace(spec, priority=1), 1, 2.0)
    assert changed and changed.version == 2
    assert load_job(store, JOB).spec.priority == 1


def test_an_ended_or_unknown_job_cannot_be_changed(store: Store) -> None:
    def same(spec: JobSpec) -> JobSpec:
        return spec

    with pytest.raises(UnknownJob):
        change_spec(store, JOB, same, None, 2.0)
    job_with(store)
    set_state(store, JOB, JobState.DONE, 1.0)
    with pytest.raises(UsageError, match="done"):
        change_spec(store, JOB, same, None, 2.0)


def test_all_exclusions_are_replaced_in_order(store: Store) -> None:
    replace_exclusions(store, ["b.test", "a.test"])
    replace_exclusions(store, ["c.test", "", "a.test"])
    assert stored_exclusions(store) == ["c.test", "", "a.test"]
    replace_exclusions(store, [])
    assert stored_exclusions(store) == []


def test_exclusions_of_an_outdated_version_are_not_replaced(store: Store) -> None:
    assert current_exclusions(store) == (0, [])
    assert replace_exclusions(store, ["a.test"], 0) == (1, ["a.test"])
    assert replace_exclusions(store, ["b.test"], 0) is None
    assert current_exclusions(store) == (1, ["a.test"])
    assert replace_exclusions(store, [], 1) == (2, [])


def test_concurrent_additions_of_exclusions_lose_none(store: Store) -> None:
    def add(line: str) -> None:
        while True:
            seen = current_exclusions(store)
            if replace_exclusions(store, [*seen.lines, line], seen.version):
                return

    lines = [f"{n}.test" for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, lines))
    assert sorted(stored_exclusions(store)) == lines and current_exclusions(store).version == 8


def test_the_last_override_of_a_host_wins(store: Store) -> None:
    change_override(store, "a.test", {"rate": 0.5})
    change_override(store, "b.test", {"paused": True})
    assert change_override(store, "a.test", {"rate": 2.0}) == HostOverride("a.test", 2.0, False)
    assert change_override(store, "a.test", {"paused": True}) == HostOverride("a.test", 2.0, True), (
        "the rate was not spoken of"
    )
    assert stored_overrides(store) == [HostOverride("a.test", 2.0, True), HostOverride("b.test", None, True)]
    change_override(store, "b.test", {"paused": False})
    assert change_override(store, "c.test", {}) == HostOverride("c.test", None, False)
    assert stored_overrides(store) == [HostOverride("a.test", 2.0, True)]


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
def test_only_an_ended_job_that_was_not_cancelled_is_reopened(store: Store, state: JobState, becomes: JobState) -> None:
    job_with(store)
    set_state(store, JOB, state, 1.0)
    assert reopen_ended(store, JOB, JobState.RUNNING, 2.0) == (state is not JobState.CANCELLED)
    assert load_job(store, JOB).state is becomes
