"""What every frontier promises of a job: exact limits, pause and cancel, and an end that leaves nothing behind."""

from __future__ import annotations

import pytest

from shoal.frontier.contract import Terms
from shoal.model import Outcome
from tests.frontier.conftest import Bench, names, target, urls


async def test_page_limits_are_exact(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=5)
    await bench.offer(*urls("a", 20))
    leases = await bench.lease(100)
    assert len(leases) == 5
    assert await bench.lease(100) == []
    await bench.complete(leases[:2])
    await bench.complete(leases[2:3], Outcome.RETRY, delay_s=1.0)
    await bench.complete(leases[3:4], Outcome.REDIRECT)
    await bench.complete(leases[4:], Outcome.DEAD)
    again = await bench.lease(100)
    assert len(again) == 3
    await bench.complete(again)
    assert await bench.lease(100) == []
    assert await bench.frontier.idle_reason("job") == "pages"
    assert (await bench.frontier.figures("job")).pages == 5
    await bench.assert_balanced()


async def test_a_permit_that_comes_back_serves_any_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=2)
    await bench.offer("http://a/1", "http://b/1", "http://c/1", "http://d/1")
    leases = await bench.lease(100)
    assert len(leases) == 2
    await bench.complete(leases, Outcome.DEAD)
    assert len(await bench.lease(100)) == 2


async def test_an_expired_lease_keeps_its_permit(bench: Bench) -> None:
    """Its holder may have stored the page: were the permit free, another page would overshoot the limit."""
    await bench.job(gap_s=0, per_host=100, pages=2)
    await bench.offer(*urls("a", 3), *urls("b", 3))
    leases = await bench.lease(100)
    assert len(leases) == 2
    bench.clock.advance(61)
    await bench.frontier.reap()
    again = await bench.lease(100)
    assert sorted(names(again)) == sorted(names(leases))
    assert await bench.frontier.idle_reason("job") is None
    await bench.complete(again)
    assert await bench.frontier.idle_reason("job") == "pages"


async def test_page_limits_per_host_are_exact(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages_per_host=2)
    await bench.offer(*urls("a", 10), *urls("b", 10))
    leases = await bench.lease(100)
    assert sorted(lease.target.host for lease in leases) == ["a", "a", "b", "b"]
    assert await bench.lease(100) == []
    await bench.complete(leases[:1], Outcome.DROP, reason="robots")
    (more,) = await bench.lease(100)
    assert more.target.host == leases[0].target.host
    await bench.complete([*leases[1:], more])
    assert await bench.frontier.idle_reason("job") == "pages_per_host"
    await bench.job(gap_s=0, per_host=100, pages_per_host=3)
    assert len(await bench.lease(100)) == 2


async def test_a_kill_at_the_page_limit_leaves_a_worker_that_sleeps(bench: Bench) -> None:
    await bench.job(gap_s=30, per_host=5, pages=1)
    await bench.offer("http://a/1", "http://b/1")
    await bench.lease(1)
    await bench.restart()
    await bench.frontier.reap(all_leases=True)
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(30, abs=1)


async def test_what_requests_cost_stops_leasing_until_the_limit_is_higher(bench: Bench) -> None:
    """A retry costs as well. Terms tell what was spent before, for a frontier that was lost meanwhile."""
    await bench.job("dear", gap_s=0, per_host=1, cost=1000)
    await bench.offer(*urls("a", 5), job="dear")
    await bench.complete(await bench.lease(1), Outcome.RETRY, cost=600)
    assert await bench.frontier.idle_reason("dear") is None
    await bench.complete(await bench.lease(1), cost=400)
    assert await bench.lease(1) == []
    assert await bench.frontier.idle_reason("dear") == await bench.frontier.end_reason("dear") == "cost"
    await bench.frontier.change("dear", Terms(gap_s=0, cost=1500, spent=1200))
    assert await bench.frontier.end_reason("dear") is None
    await bench.complete(await bench.lease(1), cost=300)
    assert await bench.frontier.end_reason("dear") == "cost"
    await bench.frontier.change("dear", Terms(gap_s=0, spent=7))
    assert len(await bench.lease(1)) == 1


async def test_bytes_and_seconds_stop_leasing(bench: Bench) -> None:
    await bench.job("bytes", gap_s=0, per_host=1, bytes=1000)
    await bench.offer(*urls("a", 3), job="bytes")
    leases = await bench.lease()
    await bench.complete(leases, bytes=1500)
    assert await bench.lease() == []
    assert await bench.frontier.idle_reason("bytes") == "bytes"
    await bench.job("seconds", gap_s=0, per_host=1, stop_at=bench.clock.now + 10)
    await bench.offer(*urls("b", 3), job="seconds")
    bench.clock.advance(11)
    assert await bench.lease() == []
    assert await bench.frontier.idle_reason("seconds") == "seconds"


async def test_time_in_pause_does_not_use_up_a_limit_of_seconds(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5, stop_at=bench.clock.now + 10)
    await bench.offer("http://a/1")
    await bench.frontier.pause("job")
    bench.clock.advance(100)
    await bench.frontier.resume("job")
    assert len(await bench.lease()) == 1


async def test_a_job_knows_that_it_is_over_while_leases_are_out(bench: Bench) -> None:
    await bench.job("timed", gap_s=0, per_host=1, stop_at=bench.clock.now + 10)
    await bench.offer(*urls("a", 2), job="timed")
    assert len(await bench.lease()) == 1
    assert await bench.frontier.end_reason("timed") is None
    bench.clock.advance(11)
    assert await bench.frontier.end_reason("timed") == "seconds"
    assert await bench.frontier.idle_reason("timed") is None
    await bench.frontier.cancel("timed")
    assert await bench.frontier.end_reason("timed") == "cancelled"


async def test_pause_resume_and_cancel_act_on_queues(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3))
    leases = await bench.lease()
    await bench.frontier.pause("job")
    await bench.fetch(leases)
    assert await bench.lease() == []
    assert await bench.frontier.idle_reason("job") == "paused"
    await bench.frontier.resume("job")
    leases = await bench.lease()
    assert len(leases) == 1
    await bench.frontier.cancel("job")
    await bench.frontier.resume("job")
    assert await bench.complete(leases) == [True]
    assert await bench.lease() == []
    assert await bench.frontier.idle_reason("job") == "cancelled"
    await bench.assert_balanced()


async def test_a_forgotten_job_leaves_only_its_figures(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    await bench.fetch(await bench.lease())
    await bench.frontier.forget("job")
    assert (await bench.frontier.figures("job")).pages == 2
    assert await bench.frontier.request_state("job", target("http://a/0").fingerprint, "a") is None


async def test_the_head_of_a_queue_can_be_looked_at(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3), *urls("b", 100))
    (first,) = await bench.lease(1)
    await bench.frontier.release(bench.caller.next(), [first.token])
    everything = [one.url async for one, _ in bench.frontier.queued("job", 1_000)]
    assert sorted(everything) == sorted([*urls("a", 3), *urls("b", 100)])
    assert 2 <= len([one async for one in bench.frontier.queued("job", 2)]) <= 103


async def test_requests_that_were_leased_before_are_found_in_their_queue(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    first, second = await bench.lease()
    await bench.fetch([first])
    await bench.frontier.release(bench.caller.next(), [second.token])
    states = [await bench.frontier.request_state("job", one.target.fingerprint, "a") for one in (first, second)]
    assert states == ["seen", "queued"]


async def test_hosts_with_queued_requests_are_counted_without_those_at_their_page_limit(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages_per_host=1)
    assert await bench.frontier.ready_hosts("job") == 0
    await bench.offer("http://a/1", "http://b/1", "http://b/2", "http://c/1")
    assert await bench.frontier.ready_hosts("job") == 3
    await bench.complete(await bench.lease(100))
    assert await bench.frontier.ready_hosts("job") == 0
