"""Several processes on one SQLite frontier: each works on its own job, and all keep the same clocks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from shoal.errors import Busy
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Completion, Lease, Offer, Outcome
from shoal.urls import Params, target

NOW = 1_000_000.0


class Process:
    def __init__(self, path: Path, job: str) -> None:
        self.frontier = SqliteFrontier(path, lambda: NOW)
        self.frontier.lease_only_from([job])
        self.job = job
        self.caller = f"crawl-{job}"
        self._calls = Caller(self.caller)

    async def begin(self, urls: int, gap_s: float = 1.0) -> None:
        await self.frontier.open_job(self.job, Terms(gap_s=gap_s, per_host=8))
        targets = [target(f"http://a.example/{self.job}/{n}", Params(), "host") for n in range(urls)]
        await self.frontier.offer(self._calls.next(), [Offer(self.job, targets)])

    async def drop(self, lease: Lease) -> None:
        await self.frontier.complete(self._calls.next(), [Completion(lease.token, Outcome.DROP, "robots")])

    async def lease(self, n: int, horizon_s: float = 0.0) -> list[Lease]:
        return await self.frontier.lease(self._calls.next(), n, horizon_s=horizon_s)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "frontier.db"


async def test_each_process_leases_only_from_its_own_job(path: Path) -> None:
    one, two = Process(path, "one"), Process(path, "two")
    await one.begin(2, gap_s=0)
    assert await two.frontier.next_ready_in() is None
    await two.begin(2, gap_s=0)
    assert {lease.job for lease in await one.lease(9)} == {"one"}
    assert {lease.job for lease in await two.lease(9)} == {"two"}


async def test_their_starts_at_one_host_keep_the_gap(path: Path) -> None:
    one, two = Process(path, "one"), Process(path, "two")
    await one.begin(9)
    await two.begin(9)
    starts = [lease.wait_s for process in (one, two, one, two) for lease in await process.lease(1, horizon_s=9.0)]
    assert starts == pytest.approx([0.0, 1.0, 2.0, 3.0], rel=0.1)


async def test_what_a_killed_process_had_leased_returns_and_nothing_else(path: Path) -> None:
    killed, living = Process(path, "killed"), Process(path, "living")
    for process in (killed, living):
        await process.begin(2, gap_s=0)
        assert len(await process.lease(2)) == 2
    assert sorted(living.frontier.lease_holders()) == ["crawl-killed", "crawl-living"]
    assert await living.frontier.reap(gone=[killed.caller]) == 2
    assert living.frontier.lease_holders() == ["crawl-living"]
    assert (await living.frontier.figures("killed")).queued == 2
    assert (await living.frontier.figures("living")).leased == 2
    # Another process that crawls the job counts its calls from one.
    assert len(await Process(path, "killed").lease(9)) == 2


async def test_a_file_that_another_process_has_locked_is_busy(path: Path) -> None:
    process = Process(path, "one")
    await process.begin(1)
    process.frontier._db.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="is locked by another process"):
        await process.lease(1)
    other.execute("COMMIT")
    assert len(await process.lease(1)) == 1
    other.close()


async def test_counts_add_up_while_another_process_drops_requests(path: Path) -> None:
    worker, onlooker = Process(path, "one"), SqliteFrontier(path, lambda: NOW)
    await worker.begin(2, gap_s=0)
    leases = iter(await worker.lease(2))

    def drop_one(statement: str) -> None:
        if "FROM dropped" in statement and (lease := next(leases, None)):
            # It waits for nothing, so one step runs it to its end.
            with pytest.raises(StopIteration):
                worker.drop(lease).send(None)

    # Called before each statement of the onlooker: the worst moment for it.
    onlooker._db.set_trace_callback(drop_one)
    figures = await onlooker.figures("one")
    assert figures.dropped == {"robots": 1}
    assert figures.found == figures.queued + figures.leased + sum(figures.dropped.values()) == 2
