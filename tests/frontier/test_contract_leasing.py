"""What every frontier promises of leases: whose turn it is, who holds one, and that a call repeated is one call."""

from __future__ import annotations

from collections import Counter

import pytest

from shoal.errors import FrontierLost, StaleCall
from shoal.frontier.contract import Call
from shoal.model import Completion, Lane, Offer, Outcome, Render, RequestOptions, Target, Trail
from tests.frontier.conftest import Bench, names, target, urls


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
        await bench.fetch(leases)
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
    assert await bench.complete(first) == [False]
    assert await bench.complete(second) == [True]
    assert (await bench.frontier.figures("job")).pages == 1
    await bench.assert_balanced()


async def test_tokens_rise_over_a_restart_with_a_clock_set_back(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer(*urls("a", 2))
    (first,) = await bench.lease(1)
    await bench.restart()
    bench.clock.advance(-3600)
    (second,) = await bench.lease(1)
    assert second.token > first.token


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


async def test_a_job_with_workers_of_its_own_is_leased_only_by_name(bench: Bench) -> None:
    await bench.job("scrapy", gap_s=0, per_host=100, own_workers=True)
    await bench.job("other", gap_s=0, per_host=100)
    await bench.offer(*urls("a", 3), job="scrapy")
    assert await bench.frontier.next_ready_in() is None
    assert await bench.frontier.next_ready_in(job="scrapy") == 0
    assert await bench.lease(2) == []
    assert [lease.job for lease in await bench.lease(2, job="scrapy")] == ["scrapy"] * 2
    assert await bench.lease(5) == []
    await bench.offer(*urls("b", 1), job="other")
    assert [lease.job for lease in await bench.lease(5)] == ["other"]
    await bench.frontier.pause("scrapy")
    assert await bench.lease(5, job="scrapy") == []
    with pytest.raises(FrontierLost):
        await bench.lease(5, job="unknown")


def rendered(priority: int = 0) -> Trail:
    return Trail(priority=priority, options=RequestOptions(render=Render.ALWAYS))


async def test_only_callers_with_a_browser_lease_requests_that_need_one(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer(*urls("a", 64), trail=rendered())
    await bench.offer(*urls("b", 2), trail=rendered())
    assert await bench.lease(5) == [] and await bench.frontier.next_ready_in() is None
    assert (await bench.frontier.figures("job")).for_browsers == 66
    await bench.offer("http://a/plain", "http://c/plain")
    assert await bench.frontier.next_ready_in() == 0
    assert {lease.target.url for lease in await bench.lease(5)} == {"http://a/plain", "http://c/plain"}
    assert await bench.frontier.next_ready_in() is None
    assert await bench.frontier.next_ready_in(browser=True) == 0
    given = await bench.lease(100, browsers=3)
    assert len(given) == 3 and all(lease.needs_browser for lease in given)
    assert (await bench.frontier.figures("job")).for_browsers == 63


async def test_plain_requests_and_those_for_a_browser_share_a_host(bench: Bench) -> None:
    await bench.job(gap_s=1, per_host=2)
    await bench.offer(*urls("a", 6), trail=rendered())
    await bench.offer(*(f"http://a/plain/{n}" for n in range(6)))
    kinds = []
    for _ in range(6):
        given = await bench.lease(5, horizon_s=0, browsers=5)
        assert len(given) == 1, "one clock for both"
        kinds.append(given[0].needs_browser)
        assert await bench.lease(5, horizon_s=0) == []
        await bench.land(given)
        await bench.complete(given)
        bench.clock.advance(1.1)
    assert kinds.count(True) == kinds.count(False) == 3, "neither waits until the other queue is empty"
    held = [await bench.lease(1, browsers=5), []]
    bench.clock.advance(1.1)
    held[1] = await bench.lease(1)
    bench.clock.advance(1.1)
    assert await bench.lease(5, browsers=5) == [], "the slots of the host are shared"
    assert await bench.frontier.next_ready_in(browser=True) is None
    await bench.land(held[0] + held[1])
    assert len(await bench.lease(1)) == 1


async def test_a_request_may_turn_out_to_need_a_browser(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.offer(*urls("a", 3))
    first, second, third = await bench.lease(5)
    await bench.frontier.release(bench.caller.next(), [first.token], needs_browser=True)
    await bench.frontier.complete(
        bench.caller.next(), [Completion(second.token, Outcome.RETRY, counted=False, needs_browser=True)]
    )
    assert await bench.lease(5) == [] and (await bench.frontier.figures("job")).for_browsers == 2
    again = await bench.lease(5, browsers=5)
    assert {lease.target.url for lease in again} == {first.target.url, second.target.url}
    assert all(lease.needs_browser and lease.attempt == 0 for lease in again) and not third.needs_browser
    await bench.complete(again, Outcome.RETRY, trail=Trail(priority=-1))
    assert await bench.lease(5) == []
    again = await bench.lease(5, browsers=5)
    assert [lease.needs_browser for lease in again] == [True, True], "another priority changes nothing of that"
    await bench.frontier.reap(all_leases=True)
    assert [lease.target for lease in await bench.lease(5)] == [third.target]
    assert len(await bench.lease(5, browsers=5)) == 2, "they need it after a crash too"


async def test_a_job_says_for_its_requests_whether_they_need_a_browser(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, browser=True)
    await bench.offer(*urls("a", 2))
    await bench.offer("http://a/sitemap.xml", trail=Trail(callback="#sitemap"))
    await bench.offer("http://a/known", trail=Trail(options=RequestOptions(render=Render.NEVER)))
    assert {lease.target.url for lease in await bench.lease(5)} == {"http://a/sitemap.xml", "http://a/known"}
    assert len(await bench.lease(5, browsers=5)) == 2


async def test_without_permits_only_held_requests_are_leased_of_either_kind(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=2)
    await bench.offer(*urls("a", 3), trail=rendered())
    await bench.offer("http://a/plain/1", "http://a/plain/2")
    given = await bench.lease(5, browsers=1)
    assert [lease.needs_browser for lease in given] == [True, False]
    assert await bench.frontier.next_ready_in(browser=True) is None
    await bench.frontier.reap(all_leases=True)
    assert [lease.target for lease in await bench.lease(5)] == [given[1].target]
    assert await bench.frontier.next_ready_in() is None
    assert [lease.target for lease in await bench.lease(5, browsers=5)] == [given[0].target]


async def test_only_callers_with_a_browser_lease_from_a_job_that_needs_one(bench: Bench) -> None:
    await bench.job("rendered", gap_s=0, per_host=100, browser=True)
    await bench.job("plain", gap_s=0, per_host=100)
    await bench.offer(*urls("a", 5), job="rendered")
    assert await bench.frontier.next_ready_in() is None
    assert await bench.frontier.next_ready_in(browser=True) == 0
    assert await bench.lease(5) == []
    await bench.offer(*urls("b", 3), job="plain")
    leased = Counter(lease.job for lease in await bench.lease(10, browsers=2))
    assert leased == {"rendered": 2, "plain": 3}
    assert len(await bench.lease(10, job="rendered", browsers=1)) == 1
    assert await bench.lease(10, job="rendered") == []


async def test_many_jobs_that_need_a_browser_keep_no_other_from_callers_without_one(bench: Bench) -> None:
    for n in range(100):
        await bench.job(f"rendered{n}", gap_s=0, per_host=100, priority=1, browser=True)
        await bench.offer(*urls(f"h{n}", 1), job=f"rendered{n}")
    await bench.job("plain", gap_s=0, per_host=100)
    await bench.offer(*urls("b", 3), job="plain")
    assert await bench.frontier.next_ready_in() == 0
    assert [lease.job for lease in await bench.lease(10)] == ["plain"] * 3
    assert await bench.frontier.next_ready_in() is None
    rendered = {lease.job for lease in await bench.lease(200, browsers=20)}
    assert len(rendered) == 20 and "plain" not in rendered


async def test_a_target_with_a_note_keeps_both_note_and_fingerprint(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    noted = Target("data:,text", -7, "data", note='{"a":1}')
    await bench.frontier.offer(bench.caller.next(), [Offer("job", [noted, target("http://a/")])])
    leases = {lease.target.url: lease for lease in await bench.lease(5)}
    assert leases["data:,text"].target == noted
    await bench.land(list(leases.values()))
    await bench.complete([leases["data:,text"]], Outcome.RETRY)
    assert [lease.target for lease in await bench.lease(5)] == [noted]
