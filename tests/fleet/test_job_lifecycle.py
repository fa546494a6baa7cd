"""What a round of tend does when a job changes in the middle of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from shoal.engine.outage_retry import OutageRetry
from shoal.engine.timed_event import TimedEvent
from shoal.fleet.fleet import Fleet
from shoal.fleet.job_lifecycle import JobLifecycle
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import load_job, unfinished_jobs
from tests.fleet.by_hand import fleet_shell


@pytest.mark.parametrize("begun", [False, True])
def test_a_job_removed_during_a_round_leaves_nothing_and_other_jobs_continue(tmp_path: Path, begun: bool) -> None:
    with fleet_shell(tmp_path) as fleet:
        removed = fleet.submit("https://example.invalid/a")
        if begun:
            fleet.begin(removed)
        other = fleet.submit("https://example.invalid/b")

        async def act(opened: Fleet) -> None:
            await opened.frontier.mark_intact()
            async_store = AsyncStore(opened.store)
            lifecycle = JobLifecycle(
                opened.frontier, async_store, OutageRetry(TimedEvent(), ()), f"tend-{time.time()}", lambda: None
            )
            jobs = unfinished_jobs(opened.store)
            await opened.cancel(load_job(opened.store, removed))
            await opened.remove(load_job(opened.store, removed))
            await lifecycle.advance(jobs)
            await asyncio.gather(*lifecycle.running)
            assert lifecycle.fault is None
            assert await opened.frontier.jobs() == [other]
            assert load_job(opened.store, other).seeded
            async_store.close()

        fleet.by_hand(act)
