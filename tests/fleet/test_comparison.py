"""A Redis that was restarted gives out nothing until tend has compared it with the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.engine.ending import drop
from shoal.engine.patience import Patience
from shoal.fleet.care import Care
from shoal.fleet.place import Fleet
from shoal.frontier.contract import Caller
from shoal.model import Completion, Drop, JobState, Lease, Outcome
from shoal.store.batch import Batch, save
from shoal.store.jobs import unfinished
from shoal.store.writer import Writer
from tests.fleet.by_hand import FleetShell, fleet_shell

URLS = [f"https://h{n}.example/" for n in range(3)]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path) as shell:
        yield shell


def begun(fleet: FleetShell) -> str:
    """A job, and its Redis declared whole."""
    job = fleet.submit(*URLS)
    fleet.begin(job)
    fleet.by_hand(lambda opened: opened.frontier.declare_whole())
    return job


def restart(fleet: FleetShell) -> None:
    fleet.redis.kill()
    fleet.redis.start()


def tend_a_round(fleet: FleetShell) -> None:
    async def act(opened: Fleet) -> None:
        writer = Writer(opened.store)
        care = Care(opened.frontier, writer, Patience(asyncio.Event(), ()), f"tend-{time.time()}", lambda: None)
        await care.take(unfinished(opened.store))
        await asyncio.gather(*care.under_way)
        writer.close()

    fleet.by_hand(act)


def ready_in(fleet: FleetShell) -> float | None:
    return fleet.by_hand(lambda opened: opened.frontier.next_ready_in())


def drop_stored(fleet: FleetShell, leases: list[Lease]) -> None:
    """The requests have ended by the store, and the frontier was not told."""

    async def act(opened: Fleet) -> None:
        for lease in leases:
            ended = drop(lease, "robots", "").record
            assert isinstance(ended, Drop)
            save(opened.store, Batch(lease.job, drops=[ended]))

    fleet.by_hand(act)


def test_nothing_is_leased_after_a_restart_until_it_is_compared_with_the_store(fleet: FleetShell) -> None:
    job = begun(fleet)
    assert ready_in(fleet) == 0.0
    restart(fleet)
    assert fleet.lease() == [] and ready_in(fleet) is None
    tend_a_round(fleet)
    assert ready_in(fleet) == 0.0 and len(fleet.lease()) == len(URLS)
    assert fleet.figures(job)["found"] == len(URLS)


def test_a_worker_that_sleeps_is_woken_when_leasing_goes_on(fleet: FleetShell) -> None:
    begun(fleet)
    restart(fleet)

    async def sleep_until_woken(opened: Fleet) -> float:
        began = time.monotonic()
        sleeping = asyncio.create_task(opened.frontier.wait(30.0))
        assert await opened.frontier.awaits_comparison()
        while not sleeping.done():
            # Again and again: it may not listen yet.
            await opened.frontier.declare_compared()
            await asyncio.wait([sleeping], timeout=0.1)
        return time.monotonic() - began

    assert fleet.by_hand(sleep_until_woken) < 20.0


def test_what_has_ended_by_the_store_is_not_given_out_again_and_figures_add_up(fleet: FleetShell) -> None:
    job = begun(fleet)
    with fleet.redis.copied() as put_back:
        leases = fleet.lease()
        drop_stored(fleet, leases[:2])
        put_back()
    tend_a_round(fleet)
    assert [lease.target.url for lease in fleet.lease()] == [leases[2].target.url]
    figures = fleet.figures(job)
    assert (figures["found"], figures["leased"], figures["dropped"]) == (3, 1, {"robots": 2})


def test_workers_that_complete_in_time_what_they_saved_leave_redis_as_it_is(fleet: FleetShell) -> None:
    job = begun(fleet)
    leases = fleet.lease()
    drop_stored(fleet, leases[:1])
    restart(fleet)

    async def complete(opened: Fleet) -> None:
        done = Completion(leases[0].token, Outcome.DROP, reason="robots", started=False)
        await opened.frontier.complete(Caller("late").next(), [done])

    fleet.by_hand(complete)
    tend_a_round(fleet)
    # The others are still leased: a job that is made anew has no leases.
    assert fleet.figures(job)["leased"] == 2


def test_a_job_that_ended_since_is_not_gone_on_with(fleet: FleetShell) -> None:
    job = begun(fleet)
    with fleet.redis.copied() as put_back:
        fleet.end(job, JobState.CANCELLED)
        put_back()
    tend_a_round(fleet)
    assert fleet.lease() == []
    assert not fleet.by_hand(lambda opened: opened.frontier.knows(job))


def test_a_restart_while_jobs_are_restored_is_not_taken_for_whole(fleet: FleetShell) -> None:
    begun(fleet)

    async def act(opened: Fleet) -> bool:
        await opened.frontier.is_whole()
        restart(fleet)
        assert await opened.frontier.awaits_comparison()
        await opened.frontier.declare_compared()
        # Of what was restored for the run before.
        await opened.frontier.declare_whole()
        return await opened.frontier.is_whole() or await opened.frontier.awaits_comparison()

    assert not fleet.by_hand(act)
