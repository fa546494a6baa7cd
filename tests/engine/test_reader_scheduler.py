"""Readers are shared among jobs: they acquire turns, and one whose pages acquire long waits, and lets others read."""

from __future__ import annotations

import asyncio

import pytest

from shoal.engine.readers.scheduler import MOST_WAITING, ReadAbandoned, ReaderScheduler


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Share(ReaderScheduler):
    """With what happens in it, by name."""

    def __init__(self, shared: bool = True, readers: int = 2) -> None:
        self.clock = Clock()
        super().__init__(readers, shared, self.clock)
        self.begun: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def wants(self, *jobs: str) -> None:
        for job in jobs:
            self.tasks.append(asyncio.create_task(self._read(job)))
        await self._settled()

    async def _read(self, job: str) -> None:
        await self.acquire(job, asyncio.get_running_loop().create_future())
        self.begun.append(job)

    async def read(self, job: str, seconds: float) -> None:
        """Ends a reading of that job."""
        self.clock.now += seconds
        self.release(job, seconds)
        await self._settled()

    async def _settled(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


async def test_jobs_take_turns_however_many_pages_each_has() -> None:
    share = Share()
    await share.wants("a", "a", "a", "a", "b", "c")
    assert share.begun == ["a", "a"]
    await share.read("a", 0.1)
    await share.read("a", 0.1)
    assert share.begun == ["a", "a", "b", "c"]
    await share.read("b", 0.1)
    assert share.begun[-1] == "a"


async def test_a_job_alone_may_have_all_readers_and_waits_for_nobody() -> None:
    share = Share(shared=False)
    await share.wants("a", "a", "a")
    await share.read("a", 30.0)
    await share.read("a", 30.0)
    assert share.begun == ["a", "a", "a"] and share.has_room("a")


async def test_jobs_whose_pages_take_long_share_one_reader_and_wait_between_pages() -> None:
    share = Share()
    await share.wants("slow", "slower")
    await share.read("slow", 10.0)
    share.release("slower", 10.0)
    await share.wants("slow", "slower", "good", "good")
    assert share.begun[2:] == ["good", "good"]
    await share.read("good", 0.1)
    assert share.begun[4:] == []
    share.clock.now += 20.0
    await share.wants("good")
    assert share.begun[4:] == ["slow"]
    await share.read("good", 0.1)
    assert share.begun[5:] == ["good"], "one is left to those that are as they should be"


async def test_each_page_that_takes_long_makes_its_job_wait_longer() -> None:
    share, waits = Share(), []
    for _ in range(3):
        await share.wants("slow")
        while share.begun != ["slow"]:
            share.clock.now += 0.5
            await share.wants("other")
            await share.read("other", 0.0)
            share.begun.remove("other")
        share.begun.clear()
        await share.read("slow", 10.0)
        waits.append(share.debt_s("slow"))
    assert waits == sorted(waits) and waits[0] == 9.0 and waits[-1] > 15.0
    share.clock.now += 600.0
    assert not share.is_slow("slow")


async def test_a_job_has_room_until_enough_of_its_pages_wait() -> None:
    share = Share()
    await share.wants(*["a"] * (MOST_WAITING + 2))
    assert not share.has_room("a") and share.has_room("b")


async def test_a_job_whose_pages_take_long_has_one_that_waits() -> None:
    share = Share()
    await share.wants("slow")
    await share.read("slow", 10.0)
    await share.wants("slow", "slow")
    with pytest.raises(ReadAbandoned):
        await share.tasks[-1]
    assert not share.has_room("slow")


async def test_a_reader_is_free_again_when_nobody_waits_for_its_turn_any_more() -> None:
    share = Share(readers=1)
    await share.wants("a", "b", "c")
    share.tasks[1].cancel()
    await share.read("a", 0.1)
    assert share.begun == ["a", "c"]
    share.tasks[-1].cancel()
    await share.read("c", 0.1)
    await share.wants("d")
    assert share.begun == ["a", "c", "d"]
