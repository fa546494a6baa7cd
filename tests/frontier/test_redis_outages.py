"""Many workers on one Redis that is killed, stands still, and comes back: nobody has to be told."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from shoal.frontier.contract import Caller, Terms
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.model import Completion, Landing, Lease, Offer, Outcome
from tests.frontier.conftest import target, urls
from tests.frontier.redis_server import RedisServer

GAP_S = 0.05
HOSTS = [f"h{number}" for number in range(6)]
PER_HOST = 40
CRAWL_S = 50.0
"""Less than a lease's life: none that is lost comes back in time."""
ANSWER_S = 0.1
"""Less than an outage. An answer that took longer may have been lost once, and come with the repeated call."""


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """It answers when a change is written: with `everysec` it answers before, while a sync is under way, and a kill
    then loses what was answered. (A fleet has that, and fetches such pages again.) In memory where there is such a
    place, or every change would wait for the disk.
    """
    shared = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as folder,
        RedisServer(Path(folder), "--appendfsync", "always") as server,
    ):
        yield server


@dataclass
class Log:
    given: list[Lease] = field(default_factory=list)
    late: set[int] = field(default_factory=set)
    """Tokens whose start may have been over when they came: what they still have to wait does not tell it."""
    completed: Counter[str] = field(default_factory=Counter)

    def add(self, leases: list[Lease]) -> None:
        self.given += leases
        self.late |= {lease.token for lease in leases if time.time() - lease.token / 1e6 > ANSWER_S}

    def starts(self) -> dict[str, list[float]]:
        """By host, as the server planned them: a token is its time in microseconds."""
        starts: defaultdict[str, list[float]] = defaultdict(list)
        for lease in self.given:
            if lease.token in self.late:
                continue
            starts[lease.target.host].append(lease.token / 1e6 + lease.wait_s)
        return {host: sorted(times) for host, times in starts.items()}


async def work(frontier: RedisFrontier, name: str, log: Log) -> None:
    caller, chance = Caller(name), random.Random(name)
    while await frontier.idle_reason("job") is None:
        # Between all calls, so that an outage may meet any of them.
        await asyncio.sleep(chance.uniform(0, 0.02))
        leases = await frontier.lease(caller.next(), 3, horizon_s=0.02)
        log.add(leases)
        await asyncio.sleep(max((lease.wait_s for lease in leases), default=0) + chance.uniform(0, 0.02))
        await frontier.landed(caller.next(), [Landing(lease.token, 0.01, 200) for lease in leases])
        await asyncio.sleep(chance.uniform(0, 0.02))
        ended = await frontier.complete(
            caller.next(), [Completion(lease.token, Outcome.DONE, bytes=1) for lease in leases]
        )
        log.completed.update(lease.target.url for lease, held in zip(leases, ended, strict=True) if held)


async def crawl(server: RedisServer, log: Log, disturb: asyncio.Task[None] | None, bounds: PoolLimits) -> None:
    frontiers = [await RedisFrontier.open(server.url, bounds) for _ in range(4)]
    await frontiers[0].open_job("job", Terms(gap_s=GAP_S, per_host=4))
    found = [target(address) for host in HOSTS for address in urls(host, PER_HOST)]
    await frontiers[0].offer(Caller("seed").next(), [Offer("job", found)])
    async with asyncio.timeout(CRAWL_S):
        await asyncio.gather(*(work(frontier, f"w{place}", log) for place, frontier in enumerate(frontiers * 2)))
    if disturb:
        await disturb
    figures = await frontiers[0].figures("job")
    assert (figures.found, figures.pages, figures.queued) == (len(found), len(found), 0)
    for frontier in frontiers:
        await frontier.close()


def assert_each_once_and_apart(log: Log) -> None:
    assert set(log.completed.values()) == {1}
    assert len(log.completed) == len(HOSTS) * PER_HOST
    assert len(log.given) == len(log.completed)  # no lease lasted its life, so none was given twice
    assert len(log.given) - len(log.late) > len(HOSTS), "some of each, or there is nothing to judge"
    for times in log.starts().values():
        assert all(later - sooner >= GAP_S for sooner, later in pairwise(times))


async def test_a_killed_redis_comes_back_and_callers_carry_on(own_server: RedisServer) -> None:
    async def kill_twice() -> None:
        for _ in range(2):
            await asyncio.sleep(0.7)
            await asyncio.to_thread(own_server.kill)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(own_server.start)

    log = Log()
    await crawl(own_server, log, asyncio.create_task(kill_twice()), PoolLimits())
    assert_each_once_and_apart(log)


async def test_a_redis_that_stands_still_breaks_no_rate_and_completes_nothing_twice(own_server: RedisServer) -> None:
    async def stand_still() -> None:
        for _ in range(3):
            await asyncio.sleep(0.4)
            own_server.stand_still()
            await asyncio.sleep(0.7)
            own_server.go_on()

    log = Log()
    await crawl(own_server, log, asyncio.create_task(stand_still()), PoolLimits(answer_s=ANSWER_S))
    assert_each_once_and_apart(log)


async def test_a_command_is_sent_again_before_its_server_is_said_to_be_away(own_server: RedisServer) -> None:
    """If this process stands still, each answer comes too late."""
    connection = RedisConnection(own_server.url, PoolLimits(answer_s=1.0, patience_s=0.0), own_server.go_on)
    own_server.stand_still()
    assert await connection.run_id()
    await connection.close()


async def test_a_call_that_is_sent_again_counts_once(own_server: RedisServer) -> None:
    frontier, caller = await RedisFrontier.open(own_server.url, PoolLimits(answer_s=ANSWER_S)), Caller("w")
    await frontier.open_job("job", Terms(gap_s=0, per_host=100))
    await frontier.offer(caller.next(), [Offer("job", [target(address) for address in urls("a", 20)])])
    await frontier.lease(caller.next(), 1)  # so that Redis has the library
    own_server.stand_still()
    lease = asyncio.create_task(frontier.lease(caller.next(), 3))
    await asyncio.sleep(0.5)
    own_server.go_on()
    assert len(await lease) == 3
    assert (await frontier.figures("job")).leased == 4
    await frontier.close()


async def test_connections_are_bounded_and_as_many_after_five_restarts(own_server: RedisServer) -> None:
    frontier = await RedisFrontier.open(own_server.url, PoolLimits(connections=3))
    await frontier.open_job("job", Terms())
    counts = []
    for _ in range(5):
        await asyncio.gather(*(frontier.figures("job") for _ in range(40)))
        counts.append(own_server.client.info("clients")["connected_clients"] - 1)
        own_server.kill()
        own_server.start()
    assert set(counts) == {3}
    await frontier.close()


async def test_the_workers_clocks_do_not_matter(own_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    frontier, log = await RedisFrontier.open(own_server.url), Log()
    await frontier.open_job("job", Terms(gap_s=0.1, per_host=9))
    await frontier.offer(Caller("seed").next(), [Offer("job", [target(address) for address in urls("a", 6)])])
    callers, true_time = [Caller("early"), Caller("late")], time.time
    for turn in range(400):
        monkeypatch.setattr(time, "time", lambda ahead_s=3600 * (turn % 2 * 2 - 1): true_time() + ahead_s)
        log.given += await frontier.lease(callers[turn % 2].next(), 1, horizon_s=0)
        await frontier.wait(0.05)
        if len(log.given) == 6:
            break
    (times,) = log.starts().values()
    assert len(times) == 6
    assert all(0.1 <= later - sooner < frontier.lease_s for sooner, later in pairwise(times))
    assert abs(times[0] - true_time()) < 60
    await frontier.close()


async def test_sixteen_lessees_never_overshoot_a_page_limit(redis_server: RedisServer) -> None:
    redis_server.client.flushall()
    frontiers = [await RedisFrontier.open(redis_server.url) for _ in range(4)]
    await frontiers[0].open_job("job", Terms(gap_s=0, per_host=50, pages=300, pages_per_host=40))
    found = [target(address) for host in range(12) for address in urls(f"h{host}", 100)]
    await frontiers[0].offer(Caller("seed").next(), [Offer("job", found)])

    async def lessee(frontier: RedisFrontier, name: str) -> None:
        caller, chance = Caller(name), random.Random(name)
        while await frontier.idle_reason("job") is None:
            leases = await frontier.lease(caller.next(), chance.randint(1, 20))
            figures = await frontier.figures("job")
            assert figures.pages + figures.leased <= 300
            outcomes = chance.choices([*Outcome], [6, 1, 2, 1, 1], k=len(leases))
            await frontier.landed(caller.next(), [Landing(lease.token, 0.01, 200) for lease in leases])
            ends = [Completion(lease.token, end, "robots") for lease, end in zip(leases, outcomes, strict=True)]
            pages.update(
                lease.target.host
                for lease, end, held in zip(leases, outcomes, await frontier.complete(caller.next(), ends), strict=True)
                if held and end is Outcome.DONE
            )

    pages: Counter[str] = Counter()
    await asyncio.gather(*(lessee(frontier, f"w{place}") for place, frontier in enumerate(frontiers * 4)))
    figures = await frontiers[0].figures("job")
    assert figures.pages == sum(pages.values()) == 300
    assert max(pages.values()) <= 40
    parts = figures.queued + figures.leased + figures.pages + figures.redirects + figures.dead
    assert figures.found == parts + sum(figures.dropped.values()) == 1200
    for frontier in frontiers:
        await frontier.close()
