from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal.errors import UnknownJob, UsageError
from shoal.model import Input, JobSpec, JobState, Limits, ScopeKind, Target
from shoal.store.crawl.append_inputs import append_inputs
from shoal.store.crawl.inputs import seed_targets
from shoal.store.job_changes import add_seconds, admit, mark_seeded
from shoal.store.job_state import end_if_seeded, set_state, set_state_unless_ended, start_queued_job
from shoal.store.jobs import create_job, find_job, list_jobs, load_job, unfinished_jobs
from shoal.store.store import Store
from tests.store.make import JOB, given, job_with, url
from tests.store.memory import peak_memory


def test_a_fleet_job_without_inputs_waits_for_the_first_append(store: Store) -> None:
    create_job(store, JOB, lambda: JobSpec("books"), [], 1.0, fleet=True)
    assert load_job(store, JOB).awaits_urls
    append_inputs(store, JOB, [Input(1, "", None, "empty")], None, 2.0)
    assert load_job(store, JOB).awaits_urls
    append_inputs(store, JOB, [Input(1, "a.test", Target("https://a.test/", 7, "a.test"))], None, 3.0)
    job = load_job(store, JOB)
    assert not job.awaits_urls and not job.seeded
    start_queued_job(store, JOB, 4.0)
    mark_seeded(store, JOB)
    assert not load_job(store, JOB).awaits_urls


def test_a_job_loads_as_it_was_created(store: Store) -> None:
    spec = JobSpec(name="b\ud800ooks", scope=ScopeKind.DOMAIN, include=("/a/*",), limits=Limits(pages=7))
    create_job(store, JOB, lambda: spec, [], 12.5)
    job = load_job(store, JOB)
    assert (job.spec, job.state, job.created_at) == (spec, JobState.QUEUED, 12.5)
    assert (job.started_at, job.finished_at, job.seconds, job.reason) == (None, None, 0.0, None)
    assert (job.admitted, job.seeded) == ((), False)


def test_a_job_whose_inputs_fail_is_not_created(store: Store) -> None:
    def broken() -> Iterator[Input]:
        yield from (given(n, n) for n in range(5000))
        raise OSError("the pipe broke")

    with pytest.raises(OSError, match="pipe"):
        create_job(store, JOB, lambda: JobSpec(name="x"), broken(), 0.0)
    assert list_jobs(store, 10) == []
    assert seed_targets(store, JOB, -1, 10) == []


def test_any_number_of_inputs_is_stored_in_bounded_memory(store: Store) -> None:
    # More than are read before the transaction begins. In memory all at once they would take 16 MB.
    n = 40_000
    with peak_memory() as peak:
        create_job(store, JOB, lambda: JobSpec(name="x"), (given(line, line) for line in range(n)), 0.0)
    assert peak.bytes < 11_000_000
    assert [one.line for one in seed_targets(store, JOB, n - 3, 10)] == [n - 2, n - 1]


def test_seed_targets_are_the_accepted_inputs_once_each(store: Store) -> None:
    bad = Input(2, "mailto:x", None, reason="not HTTP")
    job_with(store, given(1, 10), bad, given(3, 10, duplicate_of=1), given(4, 11), given(5, 12))
    first = seed_targets(store, JOB, 0, 2)
    assert [(one.line, one.target) for one in first] == [
        (1, Target(url(10), 10, "site.test")),
        (4, Target(url(11), 11, "site.test")),
    ]
    assert [one.line for one in seed_targets(store, JOB, first[-1].line, 2)] == [5]


def test_states_set_their_times(store: Store) -> None:
    job_with(store)
    set_state(store, JOB, JobState.RUNNING, 10.0)
    set_state(store, JOB, JobState.INTERRUPTED, 20.0, "Ctrl-C")
    interrupted = load_job(store, JOB)
    assert (interrupted.started_at, interrupted.finished_at, interrupted.reason) == (10.0, None, "Ctrl-C")
    set_state(store, JOB, JobState.RUNNING, 30.0)
    set_state(store, JOB, JobState.DONE, 40.0)
    done = load_job(store, JOB)
    assert (done.state, done.started_at, done.finished_at, done.reason) == (JobState.DONE, 10.0, 40.0, None)
    set_state(store, JOB, JobState.RUNNING, 50.0)
    assert load_job(store, JOB).finished_at is None


def test_seconds_add_up_over_runs(store: Store) -> None:
    job_with(store)
    add_seconds(store, JOB, 1.5)
    add_seconds(store, JOB, 2.0)
    assert load_job(store, JOB).seconds == 3.5


def test_admitted_hosts_join_once(store: Store) -> None:
    job_with(store)
    admit(store, JOB, ["b.test", "a.test"])
    admit(store, JOB, ["a.test", "c.test"])
    assert load_job(store, JOB).admitted == ("b.test", "a.test", "c.test")


def test_seeded_is_remembered(store: Store) -> None:
    job_with(store)
    mark_seeded(store, JOB)
    assert load_job(store, JOB).seeded is True


def test_changes_do_not_affect_other_jobs(store: Store) -> None:
    job_with(store, id="a")
    job_with(store, id="b")
    before = load_job(store, "b")
    set_state(store, "a", JobState.FAILED, 1.0, "broken")
    admit(store, "a", ["x.test"])
    mark_seeded(store, "a")
    add_seconds(store, "a", 1.0)
    assert load_job(store, "b") == before


def test_an_ended_job_ignores_pause_and_resume(store: Store) -> None:
    job_with(store)
    mark_seeded(store, JOB)
    assert set_state_unless_ended(store, JOB, JobState.PAUSED, 1.0)
    assert start_queued_job(store, JOB, 2.0) is JobState.PAUSED
    assert set_state_unless_ended(store, JOB, JobState.CANCELLED, 3.0)
    assert not set_state_unless_ended(store, JOB, JobState.PAUSED, 4.0)
    assert end_if_seeded(store, JOB, JobState.DONE, 5.0, None)
    job = load_job(store, JOB)
    assert (job.state, job.finished_at) == (JobState.CANCELLED, 3.0)


def test_a_queued_job_starts_once(store: Store) -> None:
    job_with(store)
    assert [start_queued_job(store, JOB, at) for at in (1.0, 2.0)] == [JobState.RUNNING, JobState.RUNNING]
    assert load_job(store, JOB).started_at == 1.0


def test_jobs_are_listed_newest_first(store: Store) -> None:
    for at, id in enumerate(["c", "a", "b"]):
        job_with(store, id=id, created_at=float(at))
    assert [job.id for job in list_jobs(store, 2)] == ["b", "a"]


def test_unfinished_fleet_jobs_come_oldest_first(store: Store) -> None:
    for at, id in enumerate(["d", "c", "b", "a"]):
        create_job(store, id, lambda: JobSpec(name="x"), [], float(at), fleet=id != "c")
    assert [(job.id, job.fleet) for job in unfinished_jobs(store)] == [("d", True), ("b", True), ("a", True)]
    set_state(store, "d", JobState.PAUSED, 5.0)
    set_state(store, "b", JobState.CANCELLED, 5.0)
    assert [job.id for job in unfinished_jobs(store)] == ["d", "a"]
    assert load_job(store, "c").fleet is False


class TestFindingAJob:
    @pytest.fixture(autouse=True)
    def jobs(self, store: Store) -> None:
        for at, id in enumerate(["abc1", "abd2", "ab", "x_y", "xzy"]):
            job_with(store, id=id, created_at=float(at))

    @pytest.mark.parametrize(("name", "id"), [("abc", "abc1"), ("ab", "ab"), ("last", "xzy"), ("x_", "x_y")])
    def test_by_prefix_by_full_id_or_as_last(self, store: Store, name: str, id: str) -> None:
        assert find_job(store, name).id == id

    def test_an_ambiguous_prefix_lists_the_candidates(self, store: Store) -> None:
        with pytest.raises(UsageError, match="several job ids begin with 'a': ab, abc1, abd2"):
            find_job(store, "a")

    @pytest.mark.parametrize("name", ["q", "%", "abc1x"])
    def test_an_unknown_id_lists_the_newest(self, store: Store, name: str) -> None:
        newest = ", ".join(f"{id} 'test'" for id in ("xzy", "x_y", "ab", "abd2", "abc1"))
        with pytest.raises(UnknownJob, match=rf"there is no job '.*'; the newest are: {newest}"):
            find_job(store, name)

    def test_by_name_the_newest_of_that_name(self, store: Store) -> None:
        job_with(store, id="n1", name="shop/books", created_at=10.0)
        job_with(store, id="n2", name="shop/books", created_at=11.0)
        job_with(store, id="n3", name="shop", created_at=12.0)
        assert find_job(store, "shop/books").id == "n2"

    @pytest.mark.parametrize(("name", "id"), [("abc1", "abc1"), ("abd", "abd2"), ("a", "n1"), ("last", "n1")])
    def test_an_id_wins_over_a_name_and_a_name_over_an_ambiguous_beginning(
        self, store: Store, name: str, id: str
    ) -> None:
        job_with(store, id="n1", name=name, created_at=10.0)
        assert find_job(store, name).id == id

    def test_an_unknown_name_offers_the_nearest(self, store: Store) -> None:
        job_with(store, id="n1", name="books", created_at=10.0)
        with pytest.raises(UnknownJob, match=r"there is no job 'boks'; did you mean 'books'\?"):
            find_job(store, "boks")

    def test_a_name_is_looked_for_among_the_jobs_of_one_owner_and_of_the_fleet(self, store: Store) -> None:
        create_job(store, "n1", lambda: JobSpec(name="news"), [], 10.0, fleet=True, owner="ann")
        create_job(store, "n2", lambda: JobSpec(name="news"), [], 11.0, fleet=True, owner="bob")
        create_job(store, "n3", lambda: JobSpec(name="news"), [], 12.0, owner="ann")
        assert find_job(store, "news", "ann", fleet_only=True).id == "n1"
        assert find_job(store, "news").id == "n3"


def test_the_last_of_no_jobs_says_how_to_start_one(store: Store) -> None:
    with pytest.raises(UsageError, match="shoal crawl"):
        find_job(store, "last")
    with pytest.raises(UsageError, match="no job 'x', nor any"):
        find_job(store, "x")
    with pytest.raises(UsageError, match="there is no job 'x'"):
        load_job(store, "x")
