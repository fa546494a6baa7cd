"""What every frontier promises of hosts that never answered a job: a share of its leases, and no more than that while
hosts are due that have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from shoal.frontier.contract import UNPROVEN_ONE_IN, Ended
from shoal.model import Lease, Outcome
from shoal.urls import fingerprint
from tests.frontier.conftest import Bench, urls

Move = Callable[[Bench, Lease], Awaitable[None]]
UNPROVEN = [f"http://new{place}/{page}" for place in range(1000) for page in range(2)]


async def prove(bench: Bench, *hosts: str) -> None:
    await bench.offer(*(f"http://{host}/first" for host in hosts))
    leases = await bench.lease(len(hosts))
    assert {lease.target.host for lease in leases} == set(hosts)
    await bench.fetch(leases)


async def flood(bench: Bench, *found_then: str) -> None:
    """A thousand unproven hosts are due before what is found two seconds later, on hosts that have answered."""
    await bench.offer(*UNPROVEN)
    bench.clock.advance(2)
    await bench.offer(*found_then)
    for host in {url.split("/")[2] for url in found_then}:
        await bench.frontier.record_robots_answer("job", host, 0.0)


def of_unproven(leases: list[Lease]) -> int:
    return sum(lease.target.host.startswith("new") for lease in leases)


@pytest.mark.parametrize("n", [1, 2, 7, 20, 200])
async def test_a_thousand_unproven_hosts_get_one_lease_in_four(bench: Bench, n: int) -> None:
    await bench.job(gap_s=0, per_host=500)
    await flood(bench, *urls("known", 400))
    leases: list[Lease] = []
    while len(leases) < 200:
        got = await bench.lease(n)
        assert len(got) == n
        leases += got
    assert of_unproven(leases) == len(leases) // UNPROVEN_ONE_IN


async def test_a_proven_host_waits_for_one_unproven_host_at_most(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=500)
    await flood(bench, *urls("known", 40))
    unproven = [of_unproven(await bench.lease(1)) for _ in range(40)]
    assert all(sum(pair) < 2 for pair in pairwise(unproven))
    assert sum(unproven) == 10


async def test_proven_hosts_keep_their_rate_beside_a_thousand_unproven_ones(bench: Bench) -> None:
    """Ten proven hosts at a page a second each, and 16 leases a second for all."""
    await bench.job(gap_s=1, per_host=1)
    known = [f"known{place}" for place in range(10)]
    await flood(bench, *(url for host in known for url in urls(host, 30)))
    served: Counter[str] = Counter()
    for _ in range(20):
        leases = await bench.lease(16, horizon_s=0.0)
        assert len(leases) == 16
        served.update(lease.target.host for lease in leases)
        await bench.land([lease for lease in leases if lease.target.host in known])
        bench.clock.advance(1.03)
    assert [served[host] for host in known] == [20] * 10


async def test_looking_in_vain_at_proven_hosts_gives_the_unproven_no_second_share(bench: Bench) -> None:
    """Thirty hosts ask for a minute's delay, which is noticed when they are looked at."""
    await bench.job(gap_s=0, per_host=500)
    slow = [f"slow{place}" for place in range(30)]
    await flood(bench, *(f"http://{host}/" for host in slow))
    for host in slow:
        await bench.frontier.record_robots_answer("job", host, 60.0)
    bench.clock.advance(1)
    await bench.offer(*urls("known", 20))
    await bench.frontier.record_robots_answer("job", "known", 0.0)
    leases = await bench.lease(8)
    assert (len(leases), of_unproven(leases)) == (8, 2)


async def test_unproven_hosts_of_a_young_crawl_get_every_lease(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer(*UNPROVEN)
    assert [len(await bench.lease(n)) for n in (1, 2, 20, 400)] == [1, 2, 20, 400]


async def test_proven_hosts_by_themselves_get_every_lease(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await prove(bench, "known", "other")
    await bench.offer(*urls("known", 30), *urls("other", 30))
    assert [len(await bench.lease(n)) for n in (1, 2, 20, 30)] == [1, 2, 20, 30]


async def test_unproven_hosts_get_what_the_proven_leave(bench: Bench) -> None:
    await bench.job(gap_s=1, per_host=1)
    await flood(bench, *urls("known", 5))
    leases = await bench.lease(20)
    assert (len(leases), of_unproven(leases)) == (20, 19)


async def test_proven_hosts_get_what_the_unproven_leave(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await prove(bench, "known")
    await bench.offer("http://new1/0")
    await bench.offer(*urls("known", 50))
    leases = await bench.lease(20)
    assert (len(leases), of_unproven(leases)) == (20, 1)


async def by_a_page(bench: Bench, lease: Lease) -> None:
    await bench.land([lease])


async def by_robots(bench: Bench, lease: Lease) -> None:
    await bench.frontier.record_robots_answer("job", lease.target.host, 0.0)


async def by_what_is_recalled(bench: Bench, lease: Lease) -> None:
    ending = Ended(fingerprint("http://late/before"), lease.target.host, Outcome.REDIRECT)
    assert await bench.frontier.recall(bench.caller.next(), "job", [ending]) == 1


async def not_at_all(bench: Bench, lease: Lease) -> None:
    await bench.land([lease], None, failure="timeout")


@pytest.mark.parametrize("answers", [by_a_page, by_robots, by_what_is_recalled, not_at_all])
async def test_a_host_is_proven_from_its_first_answer(bench: Bench, answers: Move) -> None:
    """It is due after all other unproven hosts."""
    await bench.job(gap_s=1.5, per_host=2)
    await prove(bench, "known")
    await bench.offer(*urls("late", 3))
    (first,) = await bench.lease(1)
    await flood(bench, *urls("known", 2))
    await answers(bench, first)
    hosts = {lease.target.host for lease in await bench.lease(4)}
    assert len(hosts) == 4 and "known" in hosts
    assert ("late" in hosts) == (answers is not not_at_all)


async def offered(bench: Bench, lease: Lease) -> None:
    await bench.fetch([lease])
    await bench.offer("http://known/1")


async def released(bench: Bench, lease: Lease) -> None:
    await bench.frontier.release(bench.caller.next(), [lease.token])


async def expired(bench: Bench, lease: Lease) -> None:
    bench.clock.advance(61)
    assert await bench.frontier.reap() == 1


async def retried(bench: Bench, lease: Lease) -> None:
    await bench.complete([lease], Outcome.RETRY, delay_s=0.0)


async def revived(bench: Bench, lease: Lease) -> None:
    await bench.complete([lease], Outcome.DEAD)
    assert await bench.frontier.revive(bench.caller.next(), "job", [(lease.target, lease.trail)]) == 1


@pytest.mark.parametrize("again", [offered, released, expired, retried, revived])
async def test_a_proven_host_that_had_nothing_left_is_still_proven(bench: Bench, again: Move) -> None:
    await bench.job(gap_s=0, per_host=2)
    await prove(bench, "known")
    await bench.offer("http://known/0")
    (lease,) = await bench.lease(10)
    await flood(bench)
    await again(bench, lease)
    assert "known" in {lease.target.host for lease in await bench.lease(2)}


async def test_a_proven_host_that_was_full_is_still_proven(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await prove(bench, "known")
    await bench.offer(*urls("known", 2))
    leases = await bench.lease()
    assert len(leases) == 1
    await flood(bench)
    await bench.land(leases)
    assert "known" in {lease.target.host for lease in await bench.lease(2)}


@pytest.mark.parametrize("again", ["a permit that comes back", "new terms"])
async def test_a_proven_host_that_was_capped_is_still_proven(bench: Bench, again: str) -> None:
    await bench.job(gap_s=0, per_host=5, pages_per_host=2)
    await prove(bench, "known")
    await bench.offer(*urls("known", 2))
    leases = await bench.lease()
    assert len(leases) == 1
    await flood(bench)
    if again == "new terms":
        await bench.job(gap_s=0, per_host=5, pages_per_host=3)
    else:
        await bench.complete(leases, Outcome.DROP, reason="robots")
    assert "known" in {lease.target.host for lease in await bench.lease(2)}


async def test_with_no_permit_left_every_held_request_is_given(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5, pages=9)
    await prove(bench, "known")
    await bench.offer(*UNPROVEN[:8], *urls("known", 9))
    assert len(await bench.lease(20)) == 8
    bench.clock.advance(61)
    assert await bench.frontier.reap() == 8
    assert len(await bench.lease(20)) == 8


async def test_what_is_unreachable_is_given_up_within_the_share(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=500)
    await prove(bench, "known")
    await bench.offer(*urls("new1", 300))
    for _ in range(2):
        leases = await bench.lease(1)
        await bench.land(leases, None, failure="connect")
        await bench.complete(leases, Outcome.RETRY)
        bench.clock.advance(16)
    await bench.offer(*urls("known", 30))
    leases = await bench.lease(40)
    assert [lease.unreachable for lease in leases] == [lease.target.host == "new1" for lease in leases]
    assert of_unproven(leases) == 10
    assert all(lease.unreachable for lease in await bench.lease(500))
