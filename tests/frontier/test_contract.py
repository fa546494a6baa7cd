"""What every frontier promises, one sentence a test."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shoal.errors import StaleCall
from shoal.frontier.contract import Call
from shoal.frontier.pace import GAP_MARGIN
from shoal.model import Completion, Landing, Lane, Lease, Offer, Outcome, Trail
from tests.frontier.conftest import Bench, target, urls


async def complete(bench: Bench, leases: list[Lease], outcome: Outcome = Outcome.DONE, **more: object) -> list[bool]:
    ends = [Completion(lease.token, outcome, **more) for lease in leases]  # type: ignore[arg-type]
    return await bench.frontier.complete(bench.caller.next(), ends)


async def land(bench: Bench, leases: list[Lease], status: int | None = 200, **more: object) -> None:
    landings = [Landing(lease.token, 0.05, status, **more) for lease in leases]  # type: ignore[arg-type]
    await bench.frontier.landed(bench.caller.next(), landings)


async def fetch(bench: Bench, leases: list[Lease]) -> None:
    await land(bench, leases)
    await complete(bench, leases)


def names(leases: list[Lease]) -> list[str]:
    return [lease.target.url for lease in leases]


async def assert_balanced(bench: Bench, job: str = "job") -> None:
    figures = await bench.frontier.figures(job)
    parts = figures.queued + figures.leased + figures.pages + figures.redirects + figures.dead
    assert figures.found == parts + sum(figures.dropped.values())


async def test_an_offer_is_taken_once(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=10)
    assert await bench.offer("http://a/1", "http://a/1", "http://a/2") == 2
    assert await bench.offer("http://a/2", "http://a/3") == 1
    assert names(await bench.lease()) == ["http://a/1", "http://a/2", "http://a/3"]
    assert await bench.offer("http://a/1") == 0


async def test_offers_made_together_are_taken_in_their_order_each_with_its_own_trail(bench: Bench) -> None:
    await bench.job("one", gap_s=0, per_host=10)
    await bench.job("two", gap_s=0, per_host=10)
    shallow, deep = Trail(depth=1), Trail(depth=2)
    first, second, third = (target(f"http://a/{number}") for number in (1, 2, 3))
    offers = [Offer("one", [second, first], shallow), Offer("two", [first], deep), Offer("one", [third, second], deep)]
    assert (await bench.frontier.offer(bench.caller.next(), offers)).new == 4
    leases = await bench.lease()
    assert [(lease.target, lease.trail) for lease in leases if lease.job == "one"] == [
        (second, shallow),
        (first, shallow),
        (third, deep),
    ]
    assert [(lease.target, lease.trail) for lease in leases if lease.job == "two"] == [(first, deep)]


async def test_a_restart_remembers_what_was_seen_and_queued(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=10)
    await bench.offer(*urls("a", 3))
    await fetch(bench, await bench.lease(1))
    await bench.restart()
    assert await bench.offer(*urls("a", 3)) == 0
    assert names(await bench.lease()) == urls("a", 2, start=1)


async def test_jobs_do_not_share_what_they_have_seen(bench: Bench) -> None:
    await bench.job("one")
    await bench.job("two")
    assert await bench.offer("http://a/1", job="one") == 1
    assert await bench.offer("http://a/1", job="two") == 1


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
    await land(bench, first, late_s=0.8)  # after 0.05 s
    (second,) = await bench.lease(1, horizon_s=2.0)
    assert 0.9 <= second.wait_s < 1.0
    bench.clock.advance(0.9)
    await land(bench, [second], late_s=60.0)  # which cannot be: it would begin after its answer
    (third,) = await bench.lease(1, horizon_s=2.0)
    assert 0.95 <= third.wait_s < 1.05


async def test_a_host_is_never_given_more_than_its_cap(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer(*urls("a", 5))
    first = await bench.lease()
    assert len(first) == 2
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() is None
    await land(bench, first[:1])
    assert len(await bench.lease()) == 1


async def test_landed_frees_the_slot_before_the_lease_is_complete(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 2))
    first = await bench.lease()
    await land(bench, first)
    await land(bench, first)  # a second word on the same lease frees nothing more
    assert names(await bench.lease()) == ["http://a/1"]
    assert await bench.lease() == []
    assert await complete(bench, first) == [True]


async def test_a_lease_gives_many_hosts_at_once(bench: Bench) -> None:
    await bench.job(gap_s=1, per_host=1)
    await bench.offer(*(f"http://h{place}/{n}" for place in range(30) for n in range(3)))
    assert len({lease.target.host for lease in await bench.lease(20)}) == 20


async def test_jobs_take_turns_on_one_host(bench: Bench) -> None:
    """1,000 and 10 ready requests of two jobs: the 10 are leased within the first 40."""
    await bench.job("large", gap_s=0, per_host=1)
    await bench.job("small", gap_s=0, per_host=1)
    await bench.offer(*urls("a", 1000), job="large")
    await bench.offer(*urls("a", 10), job="small")
    order = []
    for _ in range(40):
        leases = await bench.lease(5)
        order += [lease.job for lease in leases]
        await fetch(bench, leases)
    assert order[:40].count("small") == 10


async def test_one_large_lease_is_shared_by_the_jobs(bench: Bench) -> None:
    await bench.job("large", gap_s=0, per_host=100)
    await bench.job("small", gap_s=0, per_host=100)
    await bench.offer(*urls("a", 1000), job="large")
    await bench.offer(*urls("a", 10), job="small")
    leased = [lease.job for lease in await bench.lease(40)]
    assert len(leased) == 40
    assert leased.count("small") == 10


async def test_a_better_lane_goes_first(bench: Bench) -> None:
    await bench.job("batch", gap_s=0, per_host=100)
    await bench.job("express", gap_s=0, per_host=100, lane=Lane.EXPRESS)
    await bench.offer(*urls("a", 50), job="batch")
    await bench.offer(*urls("b", 5), job="express")
    leased = [lease.job for lease in await bench.lease(10)]
    assert leased == ["express"] * 5 + ["batch"] * 5
    assert await bench.lease(10, lanes=[Lane.EXPRESS]) == []


async def test_a_job_of_higher_priority_goes_first(bench: Bench) -> None:
    await bench.job("plain", gap_s=0, per_host=100)
    await bench.job("urgent", gap_s=0, per_host=100, priority=5)
    await bench.offer(*urls("a", 5), job="plain")
    await bench.offer(*urls("a", 5), job="urgent")
    assert [lease.job for lease in await bench.lease(6)] == ["urgent"] * 5 + ["plain"]


async def test_bands_are_served_in_order_and_first_in_first_out(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer("http://a/low", trail=Trail(priority=-1))
    await bench.offer("http://a/n1", "http://a/n2")
    await bench.offer("http://a/high", trail=Trail(priority=9))
    assert [name[9:] for name in names(await bench.lease())] == ["high", "n1", "n2", "low"]


async def test_tokens_rise_and_a_stale_one_completes_nothing(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer("http://a/1")
    first = await bench.lease()
    bench.clock.advance(120)
    assert await bench.frontier.reap() == 1
    second = await bench.lease()
    assert second[0].token > first[0].token
    assert await complete(bench, first) == [False]
    assert await complete(bench, second) == [True]
    assert (await bench.frontier.figures("job")).pages == 1
    await assert_balanced(bench)


async def test_tokens_rise_over_a_restart_with_a_clock_set_back(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer(*urls("a", 2))
    (first,) = await bench.lease(1)
    await bench.restart()
    bench.clock.advance(-3600)
    (second,) = await bench.lease(1)
    assert second.token > first.token


async def test_release_returns_to_the_head_in_order_and_counts_no_attempt(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=3)
    await bench.offer(*urls("a", 5))
    leases = await bench.lease()
    await bench.frontier.release(bench.caller.next(), [lease.token for lease in leases])
    again = await bench.lease()
    assert names(again) == urls("a", 3)
    assert {lease.attempt for lease in again} == {0}
    await assert_balanced(bench)


async def test_release_with_a_wait_leaves_the_host_alone(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=3)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await bench.frontier.release(bench.caller.next(), [leases[0].token], wait_s=5)
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(5)
    bench.clock.advance(5)
    assert len(await bench.lease()) == 1


async def test_a_request_that_was_never_made_leaves_its_start_to_another(bench: Bench) -> None:
    await bench.job(gap_s=10, per_host=3)
    await bench.offer(*urls("a", 3))
    first = await bench.lease()
    await complete(bench, first, Outcome.DROP, reason="robots", started=False)
    second = await bench.lease()
    assert (names(second), second[0].wait_s) == (["http://a/1"], 0)
    await complete(bench, second, Outcome.DEAD)
    assert await bench.lease() == []


async def test_a_retry_may_go_behind_what_was_never_tried(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=10)
    await bench.offer(*urls("a", 3))
    (slow,) = await bench.lease(1)
    await complete(bench, [slow], Outcome.RETRY, delay_s=1.0, trail=slow.trail._replace(priority=-1))
    bench.clock.advance(1)
    assert names(await bench.lease()) == ["http://a/1", "http://a/2", "http://a/0"]


async def test_several_that_were_never_made_leave_all_their_starts(bench: Bench) -> None:
    await bench.job(gap_s=10, per_host=3)
    await bench.offer(*urls("a", 4))
    never = await bench.lease(horizon_s=25)
    assert [lease.wait_s for lease in never] == pytest.approx([0, 10 * GAP_MARGIN, 20 * GAP_MARGIN])
    await complete(bench, never, Outcome.DROP, reason="robots", started=False)
    (last,) = await bench.lease()
    assert (last.target.url, last.wait_s) == ("http://a/3", 0)


async def test_a_robots_answer_makes_a_host_reachable(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await bench.frontier.met("job", "a", 0.0)
    for _ in range(3):
        await land(bench, leases, None, failure="timeout")
        await complete(bench, leases, Outcome.RETRY, delay_s=20.0)
        bench.clock.advance(20)
        leases = await bench.lease()
    assert [lease.unreachable for lease in leases] == [False]


async def test_the_slowest_crawl_delay_of_a_day_holds(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 3))
    await bench.frontier.met("job", "a", 7.0)
    await bench.frontier.met("job", "a", 0.0)
    (host,) = await bench.frontier.hosts()
    assert host.crawl_delay_s == 7.0


async def test_time_in_pause_does_not_use_up_a_limit_of_seconds(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5, stop_at=bench.clock.now + 10)
    await bench.offer("http://a/1")
    await bench.frontier.pause("job")
    bench.clock.advance(100)
    await bench.frontier.resume("job")
    assert len(await bench.lease()) == 1


async def test_a_kill_at_the_page_limit_leaves_a_worker_that_sleeps(bench: Bench) -> None:
    await bench.job(gap_s=30, per_host=5, pages=1)
    await bench.offer("http://a/1", "http://b/1")
    await bench.lease(1)
    await bench.restart()
    await bench.frontier.reap(all_leases=True)
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(30, abs=1)


async def test_focus_pauses_every_other_job(bench: Bench) -> None:
    for name in ("one", "two"):
        await bench.job(name, gap_s=0, per_host=5)
        await bench.offer("http://a/1", job=name)
    await bench.frontier.focus(["two"])
    assert [lease.job for lease in await bench.lease()] == ["two"]


async def test_extend_keeps_a_lease_and_says_which_are_held(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=3)
    await bench.offer(*urls("a", 2))
    kept, lost = await bench.lease()
    bench.clock.advance(50)
    assert await bench.frontier.extend(bench.caller.next(), [kept.token]) == [kept.token]
    bench.clock.advance(20)
    assert await bench.frontier.reap() == 1
    held = await bench.frontier.extend(bench.caller.next(), [kept.token, lost.token])
    assert held == [kept.token]


async def test_an_expired_lease_returns_to_its_host_and_blames_only_the_marked(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer(*urls("a", 3))
    leases = await bench.lease()
    bench.clock.advance(61)
    assert await bench.frontier.reap([leases[1].token]) == 2
    again = await bench.lease()
    assert names(again) == names(leases)
    assert [lease.crashes for lease in again] == [0, 1]
    assert [lease.attempt for lease in again] == [0, 0]


async def test_after_a_kill_all_leases_return_at_once(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer(*urls("a", 3))
    await bench.lease()
    await bench.restart()
    assert await bench.frontier.reap(all_leases=True) == 2
    assert names(await bench.lease()) == urls("a", 2)


async def test_a_retry_waits_its_time_and_counts_an_attempt(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await complete(bench, leases, Outcome.RETRY, delay_s=4.0)
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(4)
    assert await bench.frontier.rest("job") is None
    bench.clock.advance(4)
    (again,) = await bench.lease()
    assert again.attempt == 1
    await complete(bench, [again], Outcome.RETRY, counted=False, trail=Trail(chain=(7,)))
    (third,) = await bench.lease()
    assert (third.attempt, third.trail.chain) == (1, (7,))
    await assert_balanced(bench)


async def test_a_due_retry_goes_before_what_was_queued_after_it(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 10))
    first = await bench.lease(1)
    await land(bench, first, 500)
    await complete(bench, first, Outcome.RETRY, delay_s=1.0)
    bench.clock.advance(1)
    assert names(await bench.lease(1)) == ["http://a/0"]


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_blocks_the_host_for_every_job(bench: Bench, status: int) -> None:
    await bench.job("one", gap_s=0, per_host=5)
    await bench.job("two", gap_s=0, per_host=5)
    await bench.offer("http://a/1", "http://a/2", job="one")
    leases = await bench.lease(1)
    await bench.offer("http://a/3", job="two")
    await land(bench, leases, status, retry_after_s=30.0)
    assert await bench.lease() == []
    bench.clock.advance(29.5)
    assert await bench.lease() == []
    bench.clock.advance(0.6)
    assert len(await bench.lease()) == 2


async def test_ten_failures_in_a_row_block_a_host_that_had_answered(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 30))
    await fetch(bench, await bench.lease(1))
    for _ in range(10):
        leases = await bench.lease(1)
        await land(bench, leases, None, failure="connect")
        await complete(bench, leases, Outcome.RETRY, delay_s=1.0)
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
        await land(bench, leases, None, failure="connect")
        await complete(bench, leases, Outcome.RETRY, delay_s=1.0)
        bench.clock.advance(1)
    assert 14 <= bench.clock.now - 1_000_000 <= 17
    rest = await bench.lease(500)
    assert len(rest) == 199
    assert all(lease.unreachable for lease in rest)
    await complete(bench, [*leases, *rest], Outcome.DEAD)
    assert await bench.frontier.rest("job") == "empty"
    await assert_balanced(bench)


async def test_a_resumed_job_tries_a_silent_host_again(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await land(bench, leases, None, failure="dns")
    await complete(bench, leases, Outcome.RETRY, delay_s=1.0)
    bench.clock.advance(100)
    await bench.job(gap_s=0, per_host=1)
    assert [lease.unreachable for lease in await bench.lease()] == [False]


async def test_page_limits_are_exact(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=5)
    await bench.offer(*urls("a", 20))
    leases = await bench.lease(100)
    assert len(leases) == 5
    assert await bench.lease(100) == []
    await complete(bench, leases[:2])
    await complete(bench, leases[2:3], Outcome.RETRY, delay_s=1.0)
    await complete(bench, leases[3:4], Outcome.REDIRECT)
    await complete(bench, leases[4:], Outcome.DEAD)
    again = await bench.lease(100)
    assert len(again) == 3
    await complete(bench, again)
    assert await bench.lease(100) == []
    assert await bench.frontier.rest("job") == "pages"
    assert (await bench.frontier.figures("job")).pages == 5
    await assert_balanced(bench)


async def test_a_permit_that_comes_back_serves_any_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=2)
    await bench.offer("http://a/1", "http://b/1", "http://c/1", "http://d/1")
    leases = await bench.lease(100)
    assert len(leases) == 2
    await complete(bench, leases, Outcome.DEAD)
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
    assert await bench.frontier.rest("job") is None
    await complete(bench, again)
    assert await bench.frontier.rest("job") == "pages"


async def test_page_limits_per_host_are_exact(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages_per_host=2)
    await bench.offer(*urls("a", 10), *urls("b", 10))
    leases = await bench.lease(100)
    assert sorted(lease.target.host for lease in leases) == ["a", "a", "b", "b"]
    assert await bench.lease(100) == []
    await complete(bench, leases[:1], Outcome.DROP, reason="robots")
    (more,) = await bench.lease(100)
    assert more.target.host == leases[0].target.host
    await complete(bench, [*leases[1:], more])
    assert await bench.frontier.rest("job") == "pages_per_host"
    await bench.job(gap_s=0, per_host=100, pages_per_host=3)
    assert len(await bench.lease(100)) == 2


async def test_bytes_and_seconds_stop_leasing(bench: Bench) -> None:
    await bench.job("bytes", gap_s=0, per_host=1, bytes=1000)
    await bench.offer(*urls("a", 3), job="bytes")
    leases = await bench.lease()
    await complete(bench, leases, bytes=1500)
    assert await bench.lease() == []
    assert await bench.frontier.rest("bytes") == "bytes"
    await bench.job("seconds", gap_s=0, per_host=1, stop_at=bench.clock.now + 10)
    await bench.offer(*urls("b", 3), job="seconds")
    bench.clock.advance(11)
    assert await bench.lease() == []
    assert await bench.frontier.rest("seconds") == "seconds"


async def test_a_job_knows_that_it_is_over_while_leases_are_out(bench: Bench) -> None:
    await bench.job("timed", gap_s=0, per_host=1, stop_at=bench.clock.now + 10)
    await bench.offer(*urls("a", 2), job="timed")
    assert len(await bench.lease()) == 1
    assert await bench.frontier.over("timed") is None
    bench.clock.advance(11)
    assert await bench.frontier.over("timed") == "seconds"
    assert await bench.frontier.rest("timed") is None
    await bench.frontier.cancel("timed")
    assert await bench.frontier.over("timed") == "cancelled"


async def test_pause_resume_and_cancel_act_on_queues(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3))
    leases = await bench.lease()
    await bench.frontier.pause("job")
    await fetch(bench, leases)
    assert await bench.lease() == []
    assert await bench.frontier.rest("job") == "paused"
    await bench.frontier.resume("job")
    leases = await bench.lease()
    assert len(leases) == 1
    await bench.frontier.cancel("job")
    await bench.frontier.resume("job")
    assert await complete(bench, leases) == [True]
    assert await bench.lease() == []
    assert await bench.frontier.rest("job") == "cancelled"
    await assert_balanced(bench)


async def test_clocks_and_blocks_survive_a_restart(bench: Bench) -> None:
    await bench.job(gap_s=10, per_host=5)
    await bench.offer(*urls("a", 3), "http://b/1", "http://b/2")
    leases = await bench.lease()
    assert len(leases) == 2
    await land(bench, [lease for lease in leases if lease.target.host == "b"], 429, retry_after_s=100.0)
    await bench.restart()
    await bench.frontier.reap(all_leases=True)
    assert await bench.lease() == []
    bench.clock.advance(10.3)
    assert {lease.target.host for lease in await bench.lease()} == {"a"}
    bench.clock.advance(90)
    assert {lease.target.host for lease in await bench.lease()} == {"a", "b"}


async def test_three_jobs_share_one_clock(bench: Bench) -> None:
    for name in ("one", "two", "three"):
        await bench.job(name, gap_s=1.0, per_host=5)
        await bench.offer(*urls("a", 5), job=name)
    starts, served = [], []
    for step in range(200):
        leases = await bench.lease()
        starts += [bench.clock.now + lease.wait_s for lease in leases]
        served += [lease.job for lease in leases]
        await fetch(bench, leases)
        bench.clock.advance(0.1)
        if step == 70:
            await bench.restart()
    assert len(starts) == 15
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(starts))
    assert sorted(served[:3]) == ["one", "three", "two"]


async def test_crawl_delay_is_a_floor_for_jobs_that_honour_robots(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 3))
    await fetch(bench, await bench.lease(1))
    await bench.frontier.met("job", "a", 7.0)
    assert await bench.lease() == []
    bench.clock.advance(7.2)
    assert len(await bench.lease()) == 1
    assert await bench.lease() == []


async def test_an_operator_overrides_and_pauses_a_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 4))
    await bench.frontier.override("a", rate=0.5, paused=True)
    assert await bench.lease() == []
    assert await bench.frontier.rest("job") is None
    await bench.frontier.override("a", rate=0.5, paused=False)
    assert len(await bench.lease()) == 1
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(2, abs=0.1)


async def test_a_repeated_call_gets_the_first_reply(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    offers = [Offer("job", [target("http://a/1"), target("http://a/2")])]
    offer, lease, end, back = (Call("w", seq) for seq in range(1, 5))
    assert (await bench.frontier.offer(offer, offers)).new == 2
    assert (await bench.frontier.offer(offer, offers)).new == 2
    first = await bench.frontier.lease(lease, 1)
    assert await bench.frontier.lease(lease, 1) == first
    completion = [Completion(first[0].token, Outcome.DONE)]
    assert await bench.frontier.complete(end, completion) == [True]
    assert await bench.frontier.complete(end, completion) == [True]
    second = await bench.frontier.lease(back, 1)
    await bench.frontier.release(back, [second[0].token])
    await bench.frontier.release(back, [second[0].token])
    figures = await bench.frontier.figures("job")
    assert (figures.found, figures.queued, figures.leased, figures.pages) == (2, 1, 0, 1)


async def test_a_call_older_than_the_last_is_refused(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    await bench.frontier.lease(Call("w", 5), 1)
    with pytest.raises(StaleCall):
        await bench.frontier.lease(Call("w", 4), 1)


async def test_dead_letters_are_revived_once(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    leases = await bench.lease()
    await complete(bench, leases, Outcome.DEAD)
    dead = [(lease.target, lease.trail) for lease in leases]
    assert await bench.frontier.revive(bench.caller.next(), "job", dead) == 2
    assert await bench.frontier.revive(bench.caller.next(), "job", dead) == 0
    figures = await bench.frontier.figures("job")
    assert (figures.found, figures.queued, figures.dead) == (2, 2, 0)
    assert names(await bench.lease()) == urls("a", 2)


async def test_whereabouts_follow_a_request(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 2))
    one, two = target("http://a/0"), target("http://a/1")

    async def where(wanted: str) -> str | None:
        sought = target(wanted)
        return await bench.frontier.whereabouts("job", sought.fingerprint, sought.host)

    leases = await bench.lease(1)
    assert (await where(one.url), await where(two.url), await where("http://a/9")) == ("leased", "queued", None)
    await complete(bench, leases, Outcome.RETRY, delay_s=3.0)
    assert await where(one.url) == "waiting"
    bench.clock.advance(3)
    await fetch(bench, await bench.lease(1))
    assert await where(one.url) == "seen"


async def test_a_forgotten_job_leaves_only_its_figures(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    await fetch(bench, await bench.lease())
    await bench.frontier.forget("job")
    assert (await bench.frontier.figures("job")).pages == 2
    assert await bench.frontier.whereabouts("job", target("http://a/0").fingerprint, "a") is None


async def test_requests_with_bodies_and_meta_come_back_whole(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    posted = target("http://a/form")._replace(method="POST", body=b"a=1\n\xff", content_type="text/plain")
    trail = Trail(depth=3, priority=1, parent=-5, callback="detail", meta={"page": [1, 2]}, chain=(1, -2))
    await bench.frontier.offer(bench.caller.next(), [Offer("job", [posted], trail)])
    (lease,) = await bench.lease()
    assert lease.target._replace(fingerprint=0) == posted._replace(fingerprint=0)
    assert lease.trail == trail


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
