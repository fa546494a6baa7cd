"""What workers need of Redis beyond the contract: sleep that can be broken off, and to know what it may have lost."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable

import msgpack
import pytest

from shoal.errors import Unavailable
from shoal.frontier.contract import Caller, Ended, Terms
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.shard import TAG, WAKE
from shoal.model import Lane, Offer, Outcome
from tests.frontier.conftest import target, urls
from tests.frontier.redis_server import RedisServer

OPEN_TERMS = Terms(gap_s=0, per_host=1000)


@pytest.fixture
async def frontier(redis_server: RedisServer) -> AsyncIterator[RedisFrontier]:
    redis_server.client.flushall()
    frontier = await RedisFrontier.open(redis_server.url, PoolLimits(connections=3))
    yield frontier
    await frontier.close()


async def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def clients(server: RedisServer) -> int:
    connected: int = server.client.info("clients")["connected_clients"]
    return connected


def function_calls(server: RedisServer) -> int:
    return int(server.client.info("commandstats")["cmdstat_fcall"]["calls"])


def subscriptions(server: RedisServer) -> int:
    """How often somebody subscribed."""
    calls: int = server.client.info("commandstats").get("cmdstat_subscribe", {"calls": 0})["calls"]
    return calls


async def test_hundreds_of_cancelled_waits_leave_every_connection_usable(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    caller, chance, before, broken_off = Caller("w"), random.Random(11), clients(redis_server), 0
    await frontier.open_job("job", OPEN_TERMS)
    for number in range(500):
        waiting = asyncio.create_task(frontier.wait(20))
        # Some of them before their first step, some while they connect, subscribe, ask, or sleep; and some twice.
        await asyncio.sleep(chance.choice([0, chance.uniform(0, 0.003), chance.uniform(0, 0.03)]))
        waiting.cancel()
        if number % 3 == 0:
            await asyncio.sleep(0)
            waiting.cancel()
        await asyncio.wait([waiting], timeout=15)
        broken_off += waiting.done() and waiting.cancelled()
        if number % 25 == 0:
            assert (await frontier.figures("job")).found == 0
    assert broken_off == 500
    await until(lambda: redis_server.client.pubsub_numsub(WAKE)[0][1] == 0)
    subscribed = subscriptions(redis_server)
    await asyncio.sleep(0.2)
    assert subscriptions(redis_server) == subscribed, "nobody sleeps, and yet somebody listens"
    assert clients(redis_server) <= before + 3
    # As many at once as there are connections, each with its own answer: none is missing from the pool.
    for number in range(30):
        await frontier.open_job(f"job{number}", OPEN_TERMS)
        await frontier.offer(caller.next(), [Offer(f"job{number}", [target(url) for url in urls("a", number)])])
    async with asyncio.timeout(60):
        counted = await asyncio.gather(*(frontier.figures(f"job{number}") for number in range(30)))
    assert [figures.found for figures in counted] == list(range(30))


async def test_a_flood_of_another_lane_is_looked_at_fifty_times_a_second(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    other, caller = await RedisFrontier.open(redis_server.url), Caller("w")
    before, began = subscriptions(redis_server), time.monotonic()
    sleeper = asyncio.create_task(other.wait(60, [Lane.EXPRESS]))
    for number in range(200):
        await frontier.offer(caller.next(), [Offer("job", [target(f"http://h{number}/")])])
    looks, seconds = subscriptions(redis_server) - before, time.monotonic() - began
    sleeper.cancel()
    await asyncio.wait([sleeper])
    await other.close()
    assert 1 <= looks <= 2 + 50 * seconds


async def test_a_wait_ends_in_time_though_redis_stands_still(own_server: RedisServer) -> None:
    frontier = await RedisFrontier.open(own_server.url)
    own_server.stand_still()
    began = time.monotonic()
    await frontier.wait(0.5)
    assert 0.4 < time.monotonic() - began < 8
    own_server.go_on()
    assert await frontier.next_ready_in() is None
    await frontier.close()


async def test_a_frontier_is_whole_from_its_declaration_until_a_restart_or_a_wipe(own_server: RedisServer) -> None:
    frontier, other = await RedisFrontier.open(own_server.url), await RedisFrontier.open(own_server.url)
    assert not await frontier.is_intact()
    await frontier.mark_intact()
    assert await frontier.is_intact()
    assert await other.is_intact()
    own_server.kill()
    own_server.start()
    assert not await frontier.is_intact()
    await frontier.mark_intact()
    assert await other.is_intact()
    own_server.client.flushall()
    assert not await frontier.is_intact()
    await frontier.close()
    await other.close()


async def test_a_redis_that_restarts_during_a_rebuilding_is_not_declared_whole(own_server: RedisServer) -> None:
    frontier = await RedisFrontier.open(own_server.url)
    assert not await frontier.is_intact()
    own_server.kill()
    own_server.start()
    await frontier.mark_intact()
    assert not await frontier.is_intact()
    await frontier.close()


async def test_a_job_is_known_from_its_opening_until_a_wipe(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    assert not await frontier.knows("job")
    await frontier.open_job("job", OPEN_TERMS)
    assert await frontier.knows("job")
    redis_server.client.flushall()
    assert not await frontier.knows("job")


async def test_plain_commands_have_the_same_patience(own_server: RedisServer) -> None:
    frontier = await RedisFrontier.open(own_server.url, PoolLimits(patience_s=20))
    assert await frontier.connection.command("HSET", "roster", "w1", "alive") == 1
    own_server.kill()
    asking = asyncio.create_task(frontier.connection.command("HGET", "roster", "w1"))
    await asyncio.sleep(0.2)
    own_server.start()
    assert await asking == b"alive"
    with pytest.raises(Unavailable, match="WRONGTYPE"):
        await frontier.connection.command("GET", "roster")
    await frontier.close()


async def test_a_lease_lasts_as_long_as_the_bounds_say(redis_server: RedisServer) -> None:
    redis_server.client.flushall()
    frontier, caller = await RedisFrontier.open(redis_server.url, PoolLimits(lease_s=3)), Caller("w")
    await frontier.open_job("job", OPEN_TERMS)
    await frontier.offer(caller.next(), [Offer("job", [target("http://a/1")])])
    (lease,) = await frontier.lease(caller.next(), 1)
    assert await frontier.reap() == 0
    deadline = redis_server.client.zscore(f"{TAG}:deadlines", str(lease.token))
    await asyncio.sleep(0.1)
    assert await frontier.extend(caller.next(), [lease.token]) == [lease.token]
    prolonged = redis_server.client.zscore(f"{TAG}:deadlines", str(lease.token))
    assert 0.05 < prolonged - deadline < 30
    await until(lambda: redis_server.client.zcount(f"{TAG}:deadlines", 0, time.time()) == 1)
    assert await frontier.reap() == 1
    await frontier.close()


async def test_thousands_are_recalled_in_parts(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    found = [target(url) for host in range(300) for url in urls(f"h{host}", 10)]
    before = function_calls(redis_server)
    told = [Ended(each.fingerprint, each.host, Outcome.DONE) for each in found]
    assert await frontier.recall(Caller("w").next(), "job", told) == 3000
    assert function_calls(redis_server) - before >= 3000 / 500
    assert (await frontier.offer(Caller("w").next(), [Offer("job", found)])).new == 0
    buckets = redis_server.client.keys(f"{TAG}:s:*")
    assert {redis_server.client.object("encoding", bucket) for bucket in buckets} == {b"intset"}


async def test_an_owner_of_many_jobs_gets_no_more_than_one_of_few(frontier: RedisFrontier) -> None:
    caller = Caller("w")
    for n in range(150):
        await frontier.open_job(f"many-{n}", Terms(owner="one", gap_s=0.0, per_host=100, priority=n % 3))
        await frontier.offer(caller.next(), [Offer(f"many-{n}", [target(url) for url in urls(f"m{n}.test", 20)])])
    await frontier.open_job("few", Terms(owner="other", gap_s=0.0, per_host=100))
    await frontier.offer(caller.next(), [Offer("few", [target(url) for url in urls("few.test", 60)])])

    given = [lease.job for _ in range(20) for lease in await frontier.lease(caller.next(), 5)]

    assert 40 <= given.count("few") <= 60
    assert len(set(given)) > 20


async def test_a_job_that_reaches_its_limit_beside_another_owners_is_served_to_its_end(frontier: RedisFrontier) -> None:
    caller = Caller("w")
    await frontier.open_job("limited", Terms(owner="one", gap_s=0.0, per_host=100, pages=2))
    await frontier.open_job("open", Terms(owner="other", gap_s=0.0, per_host=100))
    for job, pages in (("limited", 9), ("open", 1)):
        await frontier.offer(caller.next(), [Offer(job, [target(url) for url in urls(f"{job}.test", pages)])])

    given = [lease.job for lease in await frontier.lease(caller.next(), 4)]

    assert sorted(given) == ["limited", "limited", "open"]
    assert await frontier.broken_by() is None


async def test_a_hundred_owners_whose_jobs_wait_keep_no_other_from_its_turn(frontier: RedisFrontier) -> None:
    caller = Caller("w")
    for n in range(100):
        await frontier.open_job(f"slow-{n}", Terms(owner=f"owner-{n}", gap_s=1000.0))
        await frontier.offer(caller.next(), [Offer(f"slow-{n}", [target(url) for url in urls(f"h{n}.test", 5)])])
    for _ in range(4):
        await frontier.lease(caller.next(), 500)
    await frontier.open_job("new", Terms(owner="late", gap_s=0.0, per_host=100))
    await frontier.offer(caller.next(), [Offer("new", [target(url) for url in urls("new.test", 5)])])

    assert await frontier.next_ready_in() < 1.0  # type: ignore[operator]
    given = [lease.job for _ in range(4) for lease in await frontier.lease(caller.next(), 100)]
    assert given.count("new") == 5


async def test_a_job_that_a_version_without_rings_of_browsers_listed_is_served(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    caller, client = Caller("w"), redis_server.client
    await frontier.open_job("job", Terms(gap_s=0.0, per_host=100, browser=True))
    await frontier.offer(caller.next(), [Offer("job", [target(url) for url in urls("a.test", 5)])])
    client.rename(f"{TAG}:browser_ring:1:", f"{TAG}:ring:1:")

    assert await frontier.lease(caller.next(), 10) == []
    assert len(await frontier.lease(caller.next(), 10, browsers=10)) == 5


async def test_jobs_that_a_version_without_owners_listed_are_served(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    caller, client = Caller("w"), redis_server.client
    await frontier.open_job("job", Terms(gap_s=0.0, per_host=100))
    await frontier.offer(caller.next(), [Offer("job", [target(url) for url in urls("a.test", 5)])])
    client.rename(f"{TAG}:ring:1:", f"{TAG}:ring:1")
    client.delete(f"{TAG}:owners:1")
    record = msgpack.unpackb(client.get(f"{TAG}:j:job"))
    record["in_ring"] = record.pop("listed")
    client.set(f"{TAG}:j:job", msgpack.packb(record))

    given = [lease for _ in range(2) for lease in await frontier.lease(caller.next(), 10)]
    assert len(given) == 5
