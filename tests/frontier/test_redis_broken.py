"""Records in Redis that somebody else wrote, or that a bug left: none of them stops the frontier for good."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import msgpack
import pytest

from shoal.errors import FrontierBroken, FrontierLost, UsageError
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.serialize import packed
from shoal.frontier.redis.shard import TAG
from shoal.model import Offer
from tests.frontier.conftest import target, urls
from tests.frontier.redis_server import RedisServer

NUMBERS = [msgpack.packb([number] * 19) for number in (math.inf, math.nan, 1e300)]
NO_JOB = msgpack.packb([5, "1", "a.test", "1", 1.0, 0.0, True, False, 0, 0, "", "/1", True, 1, "w"])
NONSENSE = [b"", b"\xc1", b"nonsense", msgpack.packb({}), *NUMBERS]


@pytest.fixture
async def frontier(redis_server: RedisServer) -> AsyncIterator[RedisFrontier]:
    redis_server.client.flushall()
    frontier = await RedisFrontier.open(redis_server.url)
    await frontier.open_job("job", Terms(gap_s=0.0, per_host=10))
    await frontier.offer(Caller("w").next(), [Offer("job", [target(url) for url in urls("a.test", 9)])])
    yield frontier
    await frontier.close()


@pytest.mark.parametrize("record", NONSENSE)
@pytest.mark.parametrize("key", ["h:a.test", "c:a.test"])
async def test_a_clock_that_makes_no_sense_begins_anew(
    frontier: RedisFrontier, redis_server: RedisServer, key: str, record: bytes
) -> None:
    redis_server.client.set(f"{TAG}:{key}", record)
    assert len(await frontier.lease(Caller("w").next(), 9)) == 9
    assert [host.name for host in await frontier.hosts()] == ["a.test"]


@pytest.mark.parametrize("record", NONSENSE)
async def test_a_job_that_makes_no_sense_is_lost_and_can_be_made_again(
    frontier: RedisFrontier, redis_server: RedisServer, record: bytes
) -> None:
    redis_server.client.set(f"{TAG}:j:job", record)
    assert await frontier.lease(Caller("w").next(), 9) == []
    with pytest.raises(FrontierLost):
        await frontier.figures("job")
    await frontier.erase("job")
    await frontier.open_job("job", Terms())
    offered = await frontier.offer(Caller("v").next(), [Offer("job", [target("http://a.test/1")])])
    assert offered.new == 1


@pytest.mark.parametrize("record", [*NONSENSE, NO_JOB])
async def test_a_lease_that_makes_no_sense_is_nobodys(
    frontier: RedisFrontier, redis_server: RedisServer, record: bytes
) -> None:
    (lease,) = await frontier.lease(Caller("w").next(), 1)
    redis_server.client.hset(f"{TAG}:leases", str(lease.token), record)
    assert await frontier.reap(all_leases=True) == 1
    assert redis_server.client.hlen(f"{TAG}:leases") == 0


async def test_a_call_that_fails_within_is_marked_and_starting_over_mends_it(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    client = redis_server.client
    (queue,) = client.keys(f"{TAG}:q:*")
    client.delete(queue)
    client.sadd(queue, "nonsense")
    caller = Caller("w")
    with pytest.raises(FrontierBroken):
        await frontier.lease(caller.next(), 1)
    assert (await frontier.broken_by() or "").startswith("lease: ")

    await frontier.erase_all_jobs()

    assert await frontier.broken_by() is None and not await frontier.is_intact()
    await frontier.reap()
    assert not client.keys(f"{TAG}:q:*") and not client.keys(f"{TAG}:s:*")
    await frontier.open_job("job", Terms(gap_s=0.0, per_host=10))
    await frontier.offer(caller.next(), [Offer("job", [target(url) for url in urls("a.test", 9)])])
    assert len(await frontier.lease(caller.next(), 20)) == 9


@pytest.mark.parametrize("number", [math.inf, math.nan, 1e300])
async def test_the_server_itself_refuses_numbers_that_nobody_checked(
    frontier: RedisFrontier, redis_server: RedisServer, number: float
) -> None:
    """As a program would that speaks to Redis without the adapter."""
    before = {key: redis_server.client.dump(key) for key in redis_server.client.keys(f"{TAG}:[jqrs]*")}
    terms = {"lane": 1, "priority": 0, "gap_s": number, "per_host": 2, "robots": True}
    args = {"job": "job", "terms": terms, "known": False, "lost": False, "again": False}
    with pytest.raises(UsageError, match="gap_s cannot be"):
        await frontier.connection.run("open", TAG, packed(args))
    assert await frontier.broken_by() is None
    assert {key: redis_server.client.dump(key) for key in before} == before
