"""What holds a running job back is said with figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.jobs.deployment import JobStatus
from shoal.jobs.why_slow import why_slow
from shoal.model import Figures, JobSpec, JobState, Politeness, Render
from shoal.store.jobs import load_job
from shoal.store.results.time_series import Point
from shoal.store.store import Store
from tests.store.make import job_with


@pytest.fixture
def status(tmp_path_factory: pytest.TempPathFactory) -> JobStatus:
    with Store.open(tmp_path_factory.mktemp("store") / "shoal.db") as store:
        job_with(store)
        job = replace(load_job(store, "j1"), spec=JobSpec(name="test", politeness=Politeness(rate=2, per_host=3)))
    return JobStatus(job, JobState.RUNNING, Figures(), "the rate limit of a.test", ready_hosts=4)


def minutes(*pages: int) -> list[Point]:
    return [Point(60 * n, 60, count, {}, p50_ms=1500) for n, count in enumerate(pages)]


def test_the_rate_of_all_hosts_together_is_the_limit(status: JobStatus) -> None:
    said = why_slow(status, minutes(470, 480))
    assert said is not None and said.startswith("4 hosts x 2/s = 8/s is the limit of the rate; more hosts")
    assert "higher rate where the site allows it" in said


def test_a_host_below_its_rate_is_named(status: JobStatus) -> None:
    said = why_slow(status, minutes(60, 60))
    assert said is not None and "but only 1/s arrive: a.test is slower" in said


def test_of_several_hosts_the_next_one_is_named_and_rendering_is_named_as_a_reason(status: JobStatus) -> None:
    spec = replace(status.job.spec, render=Render.ALWAYS)
    several = status._replace(limiting="the rate limit of a.test; other hosts wait too")
    said = why_slow(several, minutes(60, 60))
    assert said is not None and said.endswith("a.test is slower, because its answers are late or fail")
    said = why_slow(several._replace(job=replace(status.job, spec=spec)), minutes(3, 3))
    assert said is not None and "only 0.05/s arrive" in said and "a rendered page sends more than one request" in said


def test_slow_answers_are_the_limit(status: JobStatus) -> None:
    said = why_slow(status._replace(limiting="responses of a.test"), minutes(60, 60))
    assert said is not None
    assert said.startswith("answers take 1.50 s, and each of 4 hosts is asked 3 at a time: 8.0/s at most")


def test_any_other_reason_is_said_as_it_is(status: JobStatus) -> None:
    backoff = "a.test is in backoff for 50 s (retry-after)"
    assert why_slow(status._replace(limiting=backoff), minutes(1, 1)) == backoff
    waiting = status._replace(state=JobState.WAITING, limiting="no worker is running: shoal worker --lanes batch")
    assert why_slow(waiting, []) == waiting.limiting


def test_a_job_that_nothing_holds_back_or_that_has_ended_gives_no_reason(status: JobStatus) -> None:
    assert why_slow(status._replace(limiting=None), []) is None
    assert why_slow(status._replace(state=JobState.DONE), []) is None
