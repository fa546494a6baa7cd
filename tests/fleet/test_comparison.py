"""A Redis that was restarted gives out nothing until tend has compared it with the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.engine.outage_retry import OutageRetry
from shoal.engine.request_result import drop
from shoal.engine.timed_event import TimedEvent
from shoal.fleet.fleet import Fleet
from shoal.fleet.job_lifecycle import JobLifecycle
from shoal.frontier.contract import Caller
from shoal.model import Completion, Drop, JobState, Lease, Outcome
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import unfinished_jobs
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
    fleet.by_hand(lambda opened: opened.frontier.mark_intact())
    return job


def restart(fleet: FleetShell) -> None:
    fleet.redis.kill()
    fleet.redis.start()


def tend_a_round(fleet: FleetShell) -> None:
    async def act(opened: Fleet) -> None:
        async_store = AsyncStore(opened.store)
        care = JobLifecycle(
            opened.frontier, async_store, OutageRetry(TimedEvent(), ()), f"tend-{time.time()}", lambda: None
        )
        await care.advance(unfinished_jobs(opened.store))
        await asyncio.gather(*care.running)
        async_store.close()

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


def test_after_a_restart_nothing_is_leased_until_redis_is_compared_with_the_store(fleet: FleetShell) -> None:
    job = begun(fleet)
    assert ready_in(fleet) == 0.0
    restart(fleet)
    assert fleet.lease() == [] and ready_in(fleet) is None
    tend_a_round(fleet)
    assert ready_in(fleet) == 0.0 and len(fleet.lease()) == len(URLS)
    assert fleet.figures(job)["found"] == len(URLS)


def test_a_sleeping_worker_is_woken_when_leasing_continues(fleet: FleetShell) -> None:
    begun(fleet)
    restart(fleet)

    async def sleep_until_woken(opened: Fleet) -> float:
        began = time.monotonic()
        sleeping = asyncio.create_task(opened.frontier.wait(30.0))
        assert await opened.frontier.awaits_comparison()
        while not sleeping.done():
            # Again and again: it may not listen yet.
            await opened.frontier.mark_compared()
            await asyncio.wait([sleeping], timeout=0.1)
        return time.monotonic() - began

    assert fleet.by_hand(sleep_until_woken) < 20.0


def test_requests_that_ended_in_the_store_are_not_leased_again_and_figures_add_up(fleet: FleetShell) -> None:
    job = begun(fleet)
    with fleet.redis.copied() as put_back:
        leases = fleet.lease()
        drop_stored(fleet, leases[:2])
        put_back()
    tend_a_round(fleet)
    assert [lease.target.url for lease in fleet.lease()] == [leases[2].target.url]
    figures = fleet.figures(job)
    assert (figures["found"], figures["leased"], figures["dropped"]) == (3, 1, {"robots": 2})


def test_redis_is_kept_if_workers_complete_saved_requests_in_time(fleet: FleetShell) -> None:
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


def test_a_job_that_ended_meanwhile_is_not_continued(fleet: FleetShell) -> None:
    job = begun(fleet)
    with fleet.redis.copied() as put_back:
        fleet.end(job, JobState.CANCELLED)
        put_back()
    tend_a_round(fleet)
    assert fleet.lease() == []
    assert not fleet.by_hand(lambda opened: opened.frontier.knows(job))


def test_a_restart_during_a_restore_starts_the_restore_again(fleet: FleetShell) -> None:
    begun(fleet)

    async def act(opened: Fleet) -> bool:
        await opened.frontier.is_intact()
        restart(fleet)
        assert await opened.frontier.awaits_comparison()
        await opened.frontier.mark_compared()
        # Of what was restored for the run before.
        await opened.frontier.mark_intact()
        return await opened.frontier.is_intact() or await opened.frontier.awaits_comparison()

    assert not fleet.by_hand(act)
