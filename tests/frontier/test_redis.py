"""What is true of the Redis frontier beyond the contract: its keys, its bounds, and what others may do to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from shoal.errors import FrontierFull, FrontierLost
from shoal.frontier.contract import Caller, Offered, Terms
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.shard import CLOCKS, TAG, WAKE
from shoal.model import Completion, Landing, Lease, Offer, Outcome, Trail
from tests.frontier.conftest import target, urls
from tests.frontier.redis_server import RedisServer

OPEN_TERMS = Terms(gap_s=0, per_host=1000)


@pytest.fixture
async def frontier(redis_server: RedisServer) -> AsyncIterator[RedisFrontier]:
    redis_server.client.flushall()
    frontier = await RedisFrontier.open(redis_server.url)
    yield frontier
    await frontier.close()


def offer(*addresses: str, job: str = "job", trail: Trail | None = None) -> list[Offer]:
    return [Offer(job, [target(address) for address in addresses], trail or Trail())]


def keys(server: RedisServer) -> set[str]:
    return {key.decode().removeprefix(f"{TAG}:").split(":")[0] for key in server.client.keys("*")}


async def end(frontier: RedisFrontier, caller: Caller, leases: list[Lease], outcome: Outcome = Outcome.DONE) -> None:
    await frontier.landed(caller.next(), [Landing(lease.token, 0.01, 200) for lease in leases])
    ended = await frontier.complete(caller.next(), [Completion(lease.token, outcome) for lease in leases])
    assert all(ended)


async def assert_balanced(frontier: RedisFrontier, job: str = "job") -> None:
    figures = await frontier.figures(job)
    parts = figures.queued + figures.leased + figures.pages + figures.redirects + figures.dead
    assert figures.found == parts + sum(figures.dropped.values())


async def test_seen_urls_stay_in_intsets_of_few_bytes(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    caller, client = Caller("w"), redis_server.client
    targets = [target(address) for host in range(40) for address in urls(f"h{host}", 500)]
    assert (await frontier.offer(caller.next(), [Offer("job", targets)])).new == 20_000
    buckets = client.keys(f"{TAG}:s:*")
    assert {client.object("encoding", bucket) for bucket in buckets} == {b"intset"}
    assert sum(client.scard(bucket) for bucket in buckets) == 20_000
    assert sum(client.memory_usage(bucket) for bucket in buckets) / 20_000 <= 12
    other = await RedisFrontier.open(redis_server.url)
    assert (await other.offer(Caller("x").next(), [Offer("job", targets)])).new == 0
    await other.close()


async def test_links_offered_lately_cost_no_call(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    caller = Caller("w")
    await frontier.offer(caller.next(), offer(*urls("a", 70)))
    before = redis_server.client.info("commandstats")["cmdstat_fcall"]["calls"]
    for _ in range(10):
        assert await frontier.offer(caller.next(), offer(*urls("a", 70))) == Offered(0, [])
    assert redis_server.client.info("commandstats")["cmdstat_fcall"]["calls"] == before


async def test_a_wipe_forgets_what_workers_remember_and_tokens_still_rise(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    caller = Caller("w")
    await frontier.offer(caller.next(), offer("http://a/1"))
    (before,) = await frontier.lease(caller.next(), 1)
    redis_server.client.flushall()
    with pytest.raises(FrontierLost, match="does not know job job: it was lost; `shoal rebuild job` restores it"):
        await frontier.offer(caller.next(), offer("http://a/2"))
    await frontier.open_job("job", OPEN_TERMS)
    assert (await frontier.offer(caller.next(), offer("http://a/1"))).new == 1
    (after,) = await frontier.lease(caller.next(), 1)
    assert after.token > before.token
    assert await frontier.complete(caller.next(), [Completion(before.token, Outcome.DONE)]) == [False]


async def test_a_redis_that_lost_the_library_gets_it_again(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    redis_server.client.function_flush()
    assert (await frontier.offer(Caller("w").next(), offer("http://a/1"))).new == 1


async def test_an_offer_of_thousands_is_taken_in_parts_and_once(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    await frontier.open_job("job", OPEN_TERMS)
    call = Caller("w").next()
    offers = offer(*urls("a", 1700), *urls("b", 30))
    assert (await frontier.offer(call, offers)).new == 1730
    other = await RedisFrontier.open(redis_server.url)
    assert (await other.offer(call, offers)).new == 1730
    await other.close()
    assert (await frontier.figures("job")).found == 1730


@pytest.mark.parametrize("bounds", [PoolLimits(queued_per_job=10), PoolLimits(queued_in_all=10)])
async def test_what_is_beyond_the_cap_is_given_back_and_taken_later(
    redis_server: RedisServer, bounds: PoolLimits
) -> None:
    redis_server.client.flushall()
    frontier, caller = await RedisFrontier.open(redis_server.url, bounds), Caller("w")
    await frontier.open_job("job", OPEN_TERMS)
    assert await frontier.offer(caller.next(), offer(*urls("a", 8))) == Offered(8, [])
    call, full = caller.next(), offer(*urls("b", 4), trail=Trail(depth=3))
    assert await frontier.offer(call, full) == Offered(0, full)
    assert await frontier.offer(call, full) == Offered(0, full)
    assert await frontier.request_state("job", target("http://b/0").fingerprint, "b") is None
    await end(frontier, caller, await frontier.lease(caller.next(), 4))
    assert await frontier.offer(caller.next(), full) == Offered(4, [])
    await assert_balanced(frontier)
    await frontier.close()


async def test_at_maxmemory_nothing_is_lost_and_leases_can_end(own_server: RedisServer) -> None:
    frontier, caller = await RedisFrontier.open(own_server.url), Caller("w")
    await frontier.open_job("job", OPEN_TERMS)
    await frontier.offer(caller.next(), offer(*urls("a", 20)))
    leases = await frontier.lease(caller.next(), 10)
    own_server.client.config_set("maxmemory", 1_000_000)
    with pytest.raises(FrontierFull, match="maxmemory"):
        await frontier.offer(caller.next(), offer(*urls("b", 5)))
    with pytest.raises(FrontierFull):
        await frontier.lease(caller.next(), 1)
    assert await frontier.wait_reason("job") == "waiting: redis memory"
    await frontier.release(caller.next(), [lease.token for lease in leases[:1]])
    await end(frontier, caller, leases[1:])
    own_server.client.config_set("maxmemory", 0)
    assert (await frontier.offer(caller.next(), offer(*urls("b", 5)))).new == 5
    await end(frontier, caller, await frontier.lease(caller.next(), 100))
    assert await frontier.idle_reason("job") == "empty"
    assert (await frontier.figures("job")).pages == 25
    await frontier.close()


async def test_a_cancellation_at_any_moment_of_a_command_is_not_lost(frontier: RedisFrontier) -> None:
    lost = []
    for turns in (turns for turns in range(12) for _ in range(20)):
        command = asyncio.create_task(frontier.connection.command("PING"))
        for _ in range(turns):
            await asyncio.sleep(0)
        if command.cancel():
            await asyncio.wait([command])
            if not command.cancelled():
                lost.append(turns)
    assert not lost


@pytest.mark.parametrize("ending", ["forget", "cancel"])
async def test_keys_of_an_ended_job_are_removed(
    frontier: RedisFrontier, redis_server: RedisServer, ending: str
) -> None:
    caller = Caller("w")
    for job in ("job", "other"):
        await frontier.open_job(job, OPEN_TERMS)
        await frontier.offer(caller.next(), offer(*(f"http://h{n}/" for n in range(450)), *urls("a", 50), job=job))
    leases = [lease for lease in await frontier.lease(caller.next(), 40) if lease.job == "job"]
    retried, left = leases[:3], leases[3:]
    await frontier.complete(caller.next(), [Completion(lease.token, Outcome.RETRY, delay_s=9) for lease in retried])
    await frontier.record_robots_answer("job", "a", 0.0)
    before = await frontier.figures("job")
    await (frontier.forget("job") if ending == "forget" else frontier.cancel("job"))
    await frontier.reap()
    held = ending == "cancel"
    assert await frontier.complete(caller.next(), [Completion(lease.token, Outcome.DONE) for lease in left]) == [
        held for _ in left
    ]
    await frontier.reap()
    ids = {key.split(b":")[3] for key in redis_server.client.keys(f"{TAG}:[qs]:*")}
    assert len(ids) == 1  # the other job's
    figures = await frontier.figures("job")
    assert figures.found == before.found
    await assert_balanced(frontier)
    rest = await frontier.lease(caller.next(), 1000)
    assert {lease.job for lease in rest} == {"other"}
    await end(frontier, caller, rest)
    await frontier.forget("other")
    await frontier.reap()
    assert keys(redis_server) <= {"shard", "j", "h", "c", "w", "call", "ids", "owners", "deadlines", "leases"}


async def test_a_cancelled_job_that_is_opened_again_starts_with_empty_queues(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    caller, other, second = Caller("w"), await RedisFrontier.open(redis_server.url), Caller("x")
    await frontier.open_job("job", OPEN_TERMS)
    await frontier.offer(caller.next(), offer(*urls("a", 5)))
    await other.offer(second.next(), offer(*urls("a", 5)))
    await end(frontier, caller, await frontier.lease(caller.next(), 2))
    await frontier.cancel("job")
    await frontier.reap()
    await frontier.open_job("job", OPEN_TERMS)
    figures = await frontier.figures("job")
    assert (figures.found, figures.queued, figures.pages) == (2, 0, 2)
    assert await other.lease(second.next(), 9) == []
    # It had remembered them, but has heard of the new beginning.
    assert (await other.offer(second.next(), offer(*urls("a", 5)))).new == 5
    assert len(await frontier.lease(caller.next(), 9)) == 5
    await other.close()


@pytest.mark.parametrize(
    "element",
    [b"\xc1\xff nonsense", b"plain text", b"\x93\x01\x02\x03", b"\x92\xa1t\xa9no URL...", b"\x92\xa5trail\xa2/x"],
    ids=["no msgpack", "text", "numbers", "no line", "no trail"],
)
async def test_a_malformed_record_is_leased_as_such_and_stalls_nothing(
    frontier: RedisFrontier, redis_server: RedisServer, element: bytes
) -> None:
    caller = Caller("w")
    await frontier.open_job("job", OPEN_TERMS)
    await frontier.offer(caller.next(), offer(*urls("a", 3)))
    await frontier.offer(caller.next(), offer("http://a/last"))
    (queue,) = redis_server.client.keys(f"{TAG}:q:*")
    redis_server.client.lset(queue, 0, element)
    leases = await frontier.lease(caller.next(), 10)
    assert [lease.malformed for lease in leases] == [True, False]
    await end(frontier, caller, leases[:1], Outcome.DEAD)
    await end(frontier, caller, leases[1:])
    assert await frontier.lease(caller.next(), 10) == []
    assert await frontier.idle_reason("job") == "empty"
    figures = await frontier.figures("job")
    assert (figures.pages, figures.dead, figures.dropped) == (1, 1, {"malformed": 2})
    await assert_balanced(frontier)


async def test_a_malformed_retry_stalls_nothing(frontier: RedisFrontier, redis_server: RedisServer) -> None:
    caller = Caller("w")
    await frontier.open_job("job", OPEN_TERMS)
    await frontier.offer(caller.next(), offer("http://a/1", "http://a/2"))
    leases = await frontier.lease(caller.next(), 10)
    await frontier.complete(caller.next(), [Completion(lease.token, Outcome.RETRY) for lease in leases])
    (later,) = redis_server.client.keys(f"{TAG}:later:*")
    (one, _) = redis_server.client.zrange(later, 0, -1)
    redis_server.client.zrem(later, one)
    redis_server.client.zadd(later, {b"\xc1 nonsense": 1})
    await end(frontier, caller, await frontier.lease(caller.next(), 10))
    assert await frontier.idle_reason("job") == "empty"
    assert (await frontier.figures("job")).dropped == {"malformed": 1}
    await assert_balanced(frontier)


async def asleep(frontier: RedisFrontier, server: RedisServer) -> asyncio.Task[None]:
    waiting = asyncio.create_task(frontier.wait(20))
    for _ in range(2000):
        if server.client.pubsub_numsub(WAKE)[0][1]:
            return waiting
        await asyncio.sleep(0.01)
    raise AssertionError("it does not listen")


async def test_an_idle_worker_wakes_when_work_is_offered_or_a_slot_is_free(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    await frontier.open_job("job", Terms(gap_s=0, per_host=1))
    caller, other, began = Caller("w"), await RedisFrontier.open(redis_server.url), time.monotonic()
    waiting = await asleep(other, redis_server)
    await frontier.offer(caller.next(), offer(*urls("a", 2)))
    await waiting
    await other.wait(20)  # there is something to lease: no need to wait
    (lease,) = await frontier.lease(caller.next(), 9)
    waiting = await asleep(other, redis_server)
    await frontier.landed(caller.next(), [Landing(lease.token, 0.01, 200)])
    await waiting
    assert time.monotonic() - began < 15
    await other.close()


async def test_an_idle_worker_wakes_when_a_host_is_ready_and_when_its_time_is_up(frontier: RedisFrontier) -> None:
    caller = Caller("w")
    await frontier.open_job("job", Terms(gap_s=0.5, per_host=5))
    await frontier.offer(caller.next(), offer(*urls("a", 3)))
    assert len(await frontier.lease(caller.next(), 1)) == 1
    began = time.monotonic()
    await frontier.wait(20)
    assert 0.1 < time.monotonic() - began < 15
    await frontier.override("a", rate=None, paused=True)
    await frontier.lease(caller.next(), 1)
    began = time.monotonic()
    await frontier.wait(0.3)
    assert time.monotonic() - began > 0.2


async def test_more_jobs_than_one_call_looks_at_all_have_their_turn(frontier: RedisFrontier) -> None:
    caller = Caller("w")
    for number in range(150):
        await frontier.open_job(f"job{number}", Terms(gap_s=100, per_host=5))
        await frontier.offer(caller.next(), offer(*urls(f"h{number}", 2), job=f"job{number}"))
    served = {lease.job for _ in range(30) for lease in await frontier.lease(caller.next(), 20)}
    assert len(served) == 150


async def test_of_fifty_thousand_hosts_only_the_clocks_that_are_shown_are_read(
    frontier: RedisFrontier, redis_server: RedisServer
) -> None:
    client = redis_server.client
    await frontier.override("h00000", rate=0.5, paused=False)
    clock = client.get(f"{CLOCKS}h00000")
    assert clock is not None
    client.mset({f"{CLOCKS}h{number:05}": clock for number in range(50_000)})

    def looks() -> int:
        return int(client.info("commandstats")["cmdstat_fcall"]["calls"])

    first = await frontier.hosts("", 100)
    assert [host.name for host in first] == [f"h{number:05}" for number in range(100)]
    before = looks()
    later = await frontier.hosts("h31415", 100)
    assert [host.name for host in later] == [f"h{number:05}" for number in range(31_416, 31_516)]
    assert looks() == before + 1
    assert [host.name for host in await frontier.hosts("h49990", 100)] == [f"h{n}" for n in range(49_991, 50_000)]
