"""What every frontier promises of hosts: their gaps and caps, what blocks them, and when one is given up."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from shoal.frontier.contract import HostTerms, Terms
from shoal.model import Outcome
from tests.frontier.conftest import Bench, names, urls


async def test_nothing_is_leased_before_its_host_allows_it(bench: Bench) -> None:
    await bench.job(gap_s=1.0, per_host=10)
    await bench.offer(*urls("a", 3))
    starts = []
    for _ in range(40):
        starts += [bench.clock.now + lease.wait_s for lease in await bench.lease()]
        bench.clock.advance(0.1)
    assert len(starts) == 3
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(starts))


async def test_the_horizon_gives_high_rates_their_starts_ahead(bench: Bench) -> None:
    await bench.job(gap_s=0.01, per_host=100)
    await bench.offer(*urls("a", 100))
    leases = await bench.lease(100, horizon_s=0.25)
    waits = [lease.wait_s for lease in leases]
    assert 20 <= len(leases) <= 26
    assert all(later - sooner >= 0.01 for sooner, later in pairwise(waits))


async def test_the_next_start_keeps_its_gap_from_one_that_began_late(bench: Bench) -> None:
    await bench.job(gap_s=1.0, per_host=10)
    await bench.offer(*urls("a", 3))
    first = await bench.lease()
    bench.clock.advance(0.9)
    await bench.land(first, late_s=0.8)  # after 0.05 s
    (second,) = await bench.lease(1, horizon_s=2.0)
    assert 0.9 <= second.wait_s < 1.0
    bench.clock.advance(0.9)
    await bench.land([second], late_s=60.0)  # which cannot be: it would begin after its answer
    (third,) = await bench.lease(1, horizon_s=2.0)
    assert 0.95 <= third.wait_s < 1.05


@pytest.mark.parametrize("verb", ["open_job", "change"])
async def test_a_shorter_gap_holds_for_starts_that_were_planned_before(bench: Bench, verb: str) -> None:
    await bench.job(gap_s=100.0, per_host=10)
    await bench.offer(*urls("a", 3), *urls("b", 1))
    await bench.fetch(await bench.lease())
    bench.clock.advance(5.0)
    assert await bench.lease() == []
    await getattr(bench.frontier, verb)("job", Terms(gap_s=1.0, per_host=10))
    starts = []
    for _ in range(30):
        starts += [bench.clock.now + lease.wait_s for lease in await bench.lease()]
        bench.clock.advance(0.1)
    assert len(starts) == 2
    assert starts[1] - starts[0] >= 1.0


async def test_a_longer_gap_holds_from_the_next_start_on(bench: Bench) -> None:
    await bench.job(gap_s=1.0, per_host=10)
    await bench.offer(*urls("a", 3))
    await bench.fetch(await bench.lease())
    await bench.frontier.change("job", Terms(gap_s=100.0, per_host=10))
    bench.clock.advance(1.1)
    assert len(await bench.lease()) == 1
    bench.clock.advance(99.0)
    assert await bench.lease() == []


async def test_a_host_rests_after_a_page_that_made_requests_of_its_own(bench: Bench) -> None:
    await bench.job(gap_s=1.0, per_host=10)
    await bench.offer(*urls("a", 2))
    first = await bench.lease()
    bench.clock.advance(0.5)
    await bench.land(first, charged=3)
    (second,) = await bench.lease(1, horizon_s=9.0)
    assert 3.4 <= second.wait_s < 3.7  # four gaps after the first start


async def test_a_host_is_never_given_more_than_its_cap(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer(*urls("a", 5))
    first = await bench.lease()
    assert len(first) == 2
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() is None
    await bench.land(first[:1])
    assert len(await bench.lease()) == 1


async def test_landed_frees_the_slot_before_the_lease_is_complete(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 2))
    first = await bench.lease()
    await bench.land(first)
    await bench.land(first)  # a second word on the same lease frees nothing more
    assert names(await bench.lease()) == ["http://a/1"]
    assert await bench.lease() == []
    assert await bench.complete(first) == [True]


async def test_three_jobs_share_one_clock(bench: Bench) -> None:
    for name in ("one", "two", "three"):
        await bench.job(name, gap_s=1.0, per_host=5)
        await bench.offer(*urls("a", 5), job=name)
    starts, served = [], []
    for step in range(200):
        leases = await bench.lease()
        starts += [bench.clock.now + lease.wait_s for lease in leases]
        served += [lease.job for lease in leases]
        await bench.fetch(leases)
        bench.clock.advance(0.1)
        if step == 70:
            await bench.restart()
    assert len(starts) == 15
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(starts))
    assert sorted(served[:3]) == ["one", "three", "two"]


async def test_clocks_and_blocks_survive_a_restart(bench: Bench) -> None:
    await bench.job(gap_s=10, per_host=5)
    await bench.offer(*urls("a", 3), "http://b/1", "http://b/2")
    leases = await bench.lease()
    assert len(leases) == 2
    await bench.land([lease for lease in leases if lease.target.host == "b"], 429, retry_after_s=100.0)
    await bench.restart()
    await bench.frontier.reap(all_leases=True)
    assert await bench.lease() == []
    bench.clock.advance(10.3)
    assert {lease.target.host for lease in await bench.lease()} == {"a"}
    bench.clock.advance(90)
    assert {lease.target.host for lease in await bench.lease()} == {"a", "b"}


async def test_crawl_delay_is_a_floor_for_jobs_that_honour_robots(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 3))
    await bench.fetch(await bench.lease(1))
    await bench.frontier.record_robots_answer("job", "a", 7.0)
    assert await bench.lease() == []
    bench.clock.advance(7.2)
    assert len(await bench.lease()) == 1
    assert await bench.lease() == []


async def test_the_slowest_crawl_delay_of_a_day_holds(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 3))
    await bench.frontier.record_robots_answer("job", "a", 7.0)
    await bench.frontier.record_robots_answer("job", "a", 0.0)
    (host,) = await bench.frontier.hosts()
    assert host.crawl_delay_s == 7.0


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_blocks_the_host_for_every_job(bench: Bench, status: int) -> None:
    await bench.job("one", gap_s=0, per_host=5)
    await bench.job("two", gap_s=0, per_host=5)
    await bench.offer("http://a/1", "http://a/2", job="one")
    leases = await bench.lease(1)
    await bench.offer("http://a/3", job="two")
    await bench.land(leases, status, retry_after_s=30.0)
    assert await bench.lease() == []
    bench.clock.advance(29.5)
    assert await bench.lease() == []
    bench.clock.advance(0.6)
    assert len(await bench.lease()) == 2


async def test_ten_failures_in_a_row_block_a_host_that_had_answered(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 30))
    await bench.fetch(await bench.lease(1))
    for _ in range(10):
        leases = await bench.lease(1)
        await bench.land(leases, None, failure="connect")
        await bench.complete(leases, Outcome.RETRY, delay_s=1.0)
    assert await bench.lease() == []
    (host,) = await bench.frontier.hosts()
    assert host.block_until - bench.clock.now == pytest.approx(60)
    assert "connect" in host.block_reason
    bench.clock.advance(60.1)
    assert len(await bench.lease(1)) == 1


async def test_a_host_that_never_answers_is_given_up_after_fifteen_seconds(bench: Bench) -> None:
    await bench.job(gap_s=0.5, per_host=2)
    await bench.offer(*urls("a", 200))
    for _ in range(20):
        leases = await bench.lease(1)
        if leases and leases[0].unreachable:
            break
        await bench.land(leases, None, failure="connect")
        await bench.complete(leases, Outcome.RETRY, delay_s=1.0)
        bench.clock.advance(1)
    assert 14 <= bench.clock.now - 1_000_000 <= 17
    rest = await bench.lease(500)
    assert len(rest) == 199
    assert all(lease.unreachable for lease in rest)
    await bench.complete([*leases, *rest], Outcome.DEAD)
    assert await bench.frontier.idle_reason("job") == "empty"
    await bench.assert_balanced()


async def test_a_resumed_job_tries_a_silent_host_again(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await bench.land(leases, None, failure="dns")
    await bench.complete(leases, Outcome.RETRY, delay_s=1.0)
    bench.clock.advance(100)
    await bench.job(gap_s=0, per_host=1)
    assert [lease.unreachable for lease in await bench.lease()] == [False]


async def test_a_robots_answer_makes_a_host_reachable(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await bench.frontier.record_robots_answer("job", "a", 0.0)
    for _ in range(3):
        await bench.land(leases, None, failure="timeout")
        await bench.complete(leases, Outcome.RETRY, delay_s=20.0)
        bench.clock.advance(20)
        leases = await bench.lease()
    assert [lease.unreachable for lease in leases] == [False]


async def test_an_operator_overrides_and_pauses_a_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 4))
    await bench.frontier.override("a", rate=0.5, paused=True)
    assert await bench.lease() == []
    assert await bench.frontier.idle_reason("job") is None
    await bench.frontier.override("a", rate=0.5, paused=False)
    assert len(await bench.lease()) == 1
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(2, abs=0.1)


async def test_hosts_are_listed_by_name_and_a_part_at_a_time(bench: Bench) -> None:
    names = [f"{letter}{number}.test" for letter in "cab" for number in range(12)]
    await bench.job()
    await bench.offer(*(f"http://{name}/" for name in names[:24]))
    await bench.lease(24)
    for name in names[24:]:
        await bench.frontier.override(name, rate=0.5, paused=False)
    whole = await bench.frontier.hosts()
    assert [host.name for host in whole] == sorted(names)
    parts, after = [], ""
    while part := await bench.frontier.hosts(after, 7):
        parts.append(part)
        after = part[-1].name
    assert [len(part) for part in parts] == [7] * 5 + [1]
    assert [host for part in parts for host in part] == whole
    assert await bench.frontier.hosts("b5", 2) == [host for host in whole if host.name > "b5"][:2]


async def test_a_host_that_nobody_has_met_has_no_clock(bench: Bench) -> None:
    assert await bench.frontier.host("a.test") is None
    await bench.frontier.override("a.test", rate=0.5, paused=True)
    host = await bench.frontier.host("a.test")
    assert host is not None and (host.name, host.rate, host.paused) == ("a.test", 0.5, True)
    assert await bench.frontier.host("A.test") is None


async def test_a_job_may_treat_some_hosts_otherwise(bench: Bench) -> None:
    slow, single = HostTerms("slow.example", 2.0, 4), HostTerms("[::1]", 0.0, 1)
    await bench.job(gap_s=0.5, per_host=3, hosts=(slow, single))
    await bench.offer(*urls("slow.example:8000", 2), *urls("[::1]:8000", 2), *urls("other.example", 4))
    starts: dict[str, list[float]] = {}
    in_flight: Counter[str] = Counter()
    for _ in range(25):
        for lease in await bench.lease(20):
            starts.setdefault(lease.target.host, []).append(bench.clock.now + lease.wait_s)
            in_flight[lease.target.host] += 1
        bench.clock.advance(0.1)
    assert in_flight == {"slow.example:8000": 2, "[::1]:8000": 1, "other.example": 3}
    assert starts["slow.example:8000"][1] - starts["slow.example:8000"][0] >= 2.0
    assert 0.5 <= starts["other.example"][1] - starts["other.example"][0] < 0.7


async def test_a_hosts_own_gap_ends_with_the_terms_that_had_it(bench: Bench) -> None:
    own = (HostTerms("a", 100.0, 1), HostTerms("b", 100.0, 1))
    await bench.job(gap_s=1.0, per_host=3, hosts=own)
    await bench.offer(*urls("a", 2), *urls("b", 2), *urls("c", 2))
    await bench.fetch(await bench.lease())
    bench.clock.advance(10.0)
    await bench.fetch(await bench.lease())
    await bench.frontier.change("job", Terms(gap_s=1.0, per_host=3, hosts=own[1:]))
    bench.clock.advance(1.1)
    assert names(await bench.lease()) == ["http://a/1"]
    bench.clock.advance(80.0)
    assert await bench.lease() == []
    bench.clock.advance(12.0)
    assert names(await bench.lease()) == ["http://b/1"]
