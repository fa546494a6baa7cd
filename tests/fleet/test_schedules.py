"""What tend makes of ticks: one job each, none twice, none on top of another unless that was asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.errors import Unavailable
from shoal.fleet.schedules import Template, make_schedule, run_now
from shoal.fleet.submit import submit_request
from shoal.model import JobState, Requester
from shoal.settings import Settings
from shoal.store.fleet.schedules import (
    Overlap,
    Run,
    RunState,
    Schedule,
    change_schedule,
    claim_run,
    find_schedule,
    last_runs,
)
from shoal.store.job_state import set_state
from shoal.store.jobs import list_jobs, load_job
from shoal.store.store import Store
from tests.cli.crawling import until
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.fleet.fire_schedules import fire
from tests.fleet.running import Running

URL = "https://example.com/"
HOUR_S = 3600.0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as shell:
        yield shell


@pytest.fixture
def settings(fleet: FleetShell, tmp_path: Path) -> Settings:
    return replace(fleet.settings, home=tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with Store.open(settings.home / "shoal.db") as opened:
        yield opened


def hourly_cron() -> str:
    """Every tick is half an hour away: none comes while a test runs."""
    return f"{(time.gmtime().tm_min + 30) % 60} * * * *"


def hourly(store: Store, settings: Settings, overlap: Overlap = Overlap.SKIP, **options: object) -> Schedule:
    template = Template([URL], None, None, options)
    return make_schedule(store, settings, "news", hourly_cron(), "UTC", overlap, template)


def pass_ticks(store: Store, schedule: Schedule, hours: int) -> None:
    """As if its next tick had been so many hours ago."""
    change_schedule(store, schedule.id, lambda _: {"due_at": schedule.due_at - hours * HOUR_S})


def runs(store: Store, schedule: Schedule) -> list[tuple[RunState, int]]:
    return [(run.state, run.missed) for run in last_runs(store, schedule.id, 9)]


def test_a_tick_becomes_one_job_with_any_number_of_tends(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings)
    fire(store, settings)
    assert list_jobs(store, 9) == [], "it is not time yet"
    pass_ticks(store, schedule, 1)
    fire(store, settings, times=4)
    fire(store, settings)
    (job,) = list_jobs(store, 9)
    assert (job.fleet, job.state, job.spec.name, job.spec.refresh) == (True, JobState.QUEUED, "news", True)
    assert runs(store, schedule) == [(RunState.BEGUN, 0)]
    assert last_runs(store, schedule.id, 1)[0].job == job.id
    assert find(store).due_at > time.time()


def test_the_jobs_own_options_override_recrawl_defaults(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings, refresh=False, name="other", max_pages=3)
    pass_ticks(store, schedule, 1)
    fire(store, settings)
    spec = list_jobs(store, 1)[0].spec
    assert (spec.refresh, spec.name, spec.limits.pages) == (False, "other", 3)


def test_missed_ticks_become_one_run_that_counts_them(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings)
    pass_ticks(store, schedule, 5)
    fire(store, settings)
    assert len(list_jobs(store, 9)) == 1
    assert runs(store, schedule) == [(RunState.BEGUN, 4)]


def test_skip_drops_a_tick_while_an_earlier_job_runs(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings)
    pass_ticks(store, schedule, 2)
    fire(store, settings)
    run_again(store, schedule)
    fire(store, settings)
    assert len(list_jobs(store, 9)) == 1
    (skipped, _) = last_runs(store, schedule.id, 9)
    assert skipped.state is RunState.SKIPPED and "had not ended" in (skipped.reason or "")


def test_queue_lets_one_tick_wait_until_the_earlier_job_has_ended(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings, Overlap.QUEUE)
    pass_ticks(store, schedule, 1)
    fire(store, settings)
    (first,) = list_jobs(store, 9)
    run_again(store, schedule)
    run_again(store, schedule)
    fire(store, settings)
    assert [state for state, _ in runs(store, schedule)] == [RunState.SKIPPED, RunState.DUE, RunState.BEGUN]
    set_state(store, first.id, JobState.DONE, time.time())
    fire(store, settings)
    assert len(list_jobs(store, 9)) == 2
    assert [state for state, _ in runs(store, schedule)] == [RunState.SKIPPED, RunState.BEGUN, RunState.BEGUN]


def test_jobs_have_the_owner_of_their_schedule(store: Store, settings: Settings) -> None:
    template = Template([URL])
    anns = make_schedule(store, settings, "shop", hourly_cron(), "UTC", Overlap.SKIP, template, "ann")
    for schedule in (anns, hourly(store, settings)):
        run_now(store, schedule)
    fire(store, settings)
    assert {(job.spec.name, job.owner) for job in list_jobs(store, 9)} == {("shop", "ann"), ("news", None)}


def test_allow_starts_a_second_job_next_to_the_first(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings, Overlap.ALLOW)
    pass_ticks(store, schedule, 1)
    fire(store, settings)
    run_again(store, schedule)
    fire(store, settings)
    assert len(list_jobs(store, 9)) == 2


def test_a_run_whose_process_died_is_started_once_by_the_next_tend(
    fleet: FleetShell, settings: Settings, store: Store
) -> None:
    schedule = hourly(store, settings)
    run = run_now(store, schedule)
    assert claim_run(store, run, time.time() - 1_000)

    async def hand_over() -> None:
        async with fleet.opened() as opened:
            opened.__dict__["store"] = store
            await submit_request(opened, [URL], None, None, {}, run.job, by=Requester.OPERATOR)
            opened.__dict__.pop("store")

    asyncio.run(hand_over())
    set_state(store, run.job, JobState.DONE, time.time())
    fire(store, settings)
    assert [job.id for job in list_jobs(store, 9)] == [run.job]
    assert runs(store, schedule) == [(RunState.BEGUN, 0)]


def test_a_job_that_is_no_longer_valid_fails_with_the_reason(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings)
    gone = Template([], None, "gone.module:news").to_json()
    change_schedule(store, schedule.id, lambda _: {"job": gone})
    run_now(store, schedule)
    fire(store, settings)
    (failed,) = last_runs(store, schedule.id, 9)
    assert failed.state is RunState.FAILED and "gone.module:news" in (failed.reason or "")


def test_a_run_waits_while_redis_is_away(store: Store, settings: Settings) -> None:
    schedule = hourly(store, settings)
    run = run_now(store, schedule)
    away = replace(settings, redis_url="redis://127.0.0.1:1/0")
    with pytest.raises(Unavailable):
        fire(store, away)
    assert runs(store, schedule) == [(RunState.DUE, 0)]
    fire(store, settings)
    assert load_job(store, run.job).fleet


def test_two_tends_make_one_job_from_a_tick(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, tends=2) as running, Store.open(running.home / "shoal.db") as store:
        schedule = hourly(store, running.settings, Overlap.ALLOW)
        for _ in range(3):
            pass_ticks(store, schedule, 1)
            until(lambda: runs(store, schedule) == [(RunState.BEGUN, 0)] and (find(store).due_at > time.time()))
        assert len(list_jobs(store, 9)) == 1


def find(store: Store) -> Schedule:
    found = find_schedule(store, "news")
    assert found is not None
    return found


def run_again(store: Store, schedule: Schedule) -> Run:
    """A further tick that is due, whatever the overlap."""
    return run_now(store, replace(schedule, overlap=Overlap.ALLOW))


@pytest.mark.parametrize(
    ("by", "when_made", "at_tend", "may"),
    [
        (Requester.ADMIN, True, False, True),
        (Requester.ADMIN, False, True, False),
        (Requester.SUBMITTER, True, True, False),
        (Requester.OPERATOR, True, False, True),
    ],
)
def test_private_access_of_a_schedules_jobs_is_fixed_at_creation(
    store: Store, settings: Settings, by: Requester, when_made: bool, at_tend: bool, may: bool
) -> None:
    template = Template([URL], by=by)
    allowing = replace(settings, allow_private=when_made)
    schedule = make_schedule(store, allowing, "news", hourly_cron(), "UTC", Overlap.SKIP, template)
    run = run_now(store, schedule)
    fire(store, replace(settings, allow_private=at_tend))
    spec = load_job(store, run.job).spec
    assert (spec.asked_by, spec.allow_private) == (by, may)
