"""A slow job holds nobody up, and hosts of one domain at one address share a rate."""

from __future__ import annotations

import pytest

from shoal.model import Lease
from tests.frontier.conftest import Bench, names, urls


async def served(bench: Bench, seconds: float, step_s: float = 0.1) -> list[Lease]:
    """What is leased while time goes by, each fetched at once."""
    leases = []
    for _ in range(round(seconds / step_s)):
        got = await bench.lease(horizon_s=0.0)
        await bench.fetch(got)
        leases += got
        bench.clock.advance(step_s)
    return leases


async def test_a_slow_job_delays_only_itself(bench: Bench) -> None:
    await bench.job("slow", gap_s=1000.0)
    await bench.job("quick", gap_s=0.5)
    await bench.offer(*urls("a.test", 50), job="slow")
    await bench.offer(*urls("a.test", 100, start=50), job="quick")

    given = [lease.job for lease in await served(bench, 20.0)]

    assert given.count("slow") == 1
    assert given.count("quick") >= 32
    await bench.frontier.cancel("slow")
    assert [lease.job for lease in await served(bench, 5.0)].count("quick") >= 8


async def test_a_slow_job_keeps_its_own_gap_beside_a_quick_one(bench: Bench) -> None:
    await bench.job("slow", gap_s=5.0)
    await bench.job("quick", gap_s=0.5)
    await bench.offer(*urls("a.test", 50), job="slow")
    await bench.offer(*urls("a.test", 100, start=50), job="quick")

    given = [lease.job for lease in await served(bench, 20.0)]

    assert given.count("slow") == 4


async def test_two_jobs_together_ask_no_more_than_the_quicker_one_may(bench: Bench) -> None:
    await bench.job("one", gap_s=0.5)
    await bench.job("other", gap_s=1.0)
    await bench.offer(*urls("a.test", 100), job="one")
    await bench.offer(*urls("a.test", 100, start=100), job="other")

    assert len(await served(bench, 20.0)) <= 41


async def test_a_slow_job_that_gives_its_lease_back_leaves_the_host_to_others(bench: Bench) -> None:
    await bench.job("slow", gap_s=1000.0)
    await bench.job("quick", gap_s=0.5)
    await bench.offer(*urls("a.test", 2), job="slow")
    (lease,) = await bench.lease(horizon_s=0.0)
    await bench.frontier.release(bench.caller.next(), [lease.token])
    await bench.frontier.cancel("slow")
    await bench.offer(*urls("a.test", 2, start=5), job="quick")

    assert len(await bench.lease(horizon_s=0.0)) == 1


async def test_an_operator_sees_when_the_host_is_free_for_any_job(bench: Bench) -> None:
    await bench.job("slow", gap_s=9000.0)
    await bench.offer(*urls("a.test", 2), job="slow")
    await bench.lease(horizon_s=0.0)

    host = await bench.frontier.host("a.test")
    assert host is not None and host.next_at <= bench.clock.now
    assert await bench.frontier.wait_reason("slow") == "the rate limit of a.test"


async def test_wildcard_subdomains_share_one_rate(bench: Bench) -> None:
    await bench.job(gap_s=1.0)
    await bench.offer(*(f"http://s{n}.trap.test/" for n in range(300)))

    assert len(await served(bench, 20.0)) <= 21


async def test_ports_of_one_name_share_one_rate(bench: Bench) -> None:
    await bench.job(gap_s=1.0)
    await bench.offer(*(f"http://trap.test:{port}/" for port in range(8000, 8050)))

    assert len(await served(bench, 10.0)) <= 11


@pytest.mark.parametrize(("addresses", "at_most"), [(("192.0.2.1", "192.0.2.1"), 1), (("192.0.2.1", "192.0.2.2"), 2)])
async def test_hosts_of_a_domain_share_a_rate_only_at_one_address(
    bench: Bench, addresses: tuple[str, str], at_most: int
) -> None:
    await bench.job(gap_s=1.0)
    hosts = ("docs.example.com", "shop.example.com")
    await bench.offer(*(url for host in hosts for url in urls(host, 20)))
    for host, address in zip(hosts, addresses, strict=True):
        (lease,) = await bench.lease(horizon_s=0.0)
        assert lease.target.host == host
        await bench.land([lease], address=address)
        await bench.complete([lease])
        bench.clock.advance(2.0)

    assert len(await bench.lease(horizon_s=0.0)) == at_most


async def test_other_domains_keep_their_rates(bench: Bench) -> None:
    await bench.job(gap_s=1.0)
    await bench.offer(*(f"http://www.shop{n}.test/{page}" for n in range(10) for page in range(5)))

    assert len(names(await bench.lease(40, horizon_s=0.0))) == 10


async def test_a_start_that_is_given_back_leaves_the_starts_of_other_jobs(bench: Bench) -> None:
    await bench.job("slow", gap_s=1000.0)
    await bench.job("quick", gap_s=1.0)
    await bench.offer(*urls("a.test", 2), job="slow")
    (slow,) = await bench.lease(horizon_s=0.0)
    bench.clock.advance(1.1)
    await bench.offer(*urls("a.test", 3, start=5), job="quick")
    (quick,) = await bench.lease(horizon_s=0.0)
    assert quick.job == "quick"
    await bench.frontier.release(bench.caller.next(), [slow.token])

    assert await bench.lease(horizon_s=0.0) == []


async def test_a_job_that_gives_leases_back_for_a_while_holds_no_other_job_up(bench: Bench) -> None:
    await bench.job("broken", gap_s=0.1)
    await bench.job("other", gap_s=0.1)
    await bench.offer(*urls("a.test", 2), job="broken")
    leases = await bench.lease(horizon_s=0.0)
    await bench.frontier.release(bench.caller.next(), [lease.token for lease in leases], 60.0)
    await bench.offer(*urls("a.test", 2, start=5), job="other")

    assert [lease.job for lease in await bench.lease(horizon_s=0.0)] == ["other"]
    bench.clock.advance(30.0)
    assert {lease.job for lease in await bench.lease(horizon_s=0.0)} == {"other"}
