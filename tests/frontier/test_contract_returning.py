"""What every frontier promises of requests that come back: released, retried, or held by one who died."""

from __future__ import annotations

import pytest

from shoal.frontier.adaptive_delay import GAP_MARGIN
from shoal.model import Outcome, Trail
from tests.frontier.conftest import Bench, names, urls


async def test_release_returns_to_the_head_in_order_and_counts_no_attempt(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=3)
    await bench.offer(*urls("a", 5))
    leases = await bench.lease()
    await bench.frontier.release(bench.caller.next(), [lease.token for lease in leases])
    again = await bench.lease()
    assert names(again) == urls("a", 3)
    assert {lease.attempt for lease in again} == {0}
    await bench.assert_balanced()


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
    await bench.complete(first, Outcome.DROP, reason="robots", started=False)
    second = await bench.lease()
    assert (names(second), second[0].wait_s) == (["http://a/1"], 0)
    await bench.complete(second, Outcome.DEAD)
    assert await bench.lease() == []


async def test_several_that_were_never_made_leave_all_their_starts(bench: Bench) -> None:
    await bench.job(gap_s=10, per_host=3)
    await bench.offer(*urls("a", 4))
    never = await bench.lease(horizon_s=25)
    assert [lease.wait_s for lease in never] == pytest.approx([0, 10 * GAP_MARGIN, 20 * GAP_MARGIN])
    await bench.complete(never, Outcome.DROP, reason="robots", started=False)
    (last,) = await bench.lease()
    assert (last.target.url, last.wait_s) == ("http://a/3", 0)


async def test_a_retry_waits_its_time_and_counts_an_attempt(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=2)
    await bench.offer("http://a/1")
    leases = await bench.lease()
    await bench.complete(leases, Outcome.RETRY, delay_s=4.0)
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(4)
    assert await bench.frontier.idle_reason("job") is None
    bench.clock.advance(4)
    (again,) = await bench.lease()
    assert again.attempt == 1
    await bench.complete([again], Outcome.RETRY, counted=False, trail=Trail(chain=(7,)))
    (third,) = await bench.lease()
    assert (third.attempt, third.trail.chain) == (1, (7,))
    await bench.assert_balanced()


async def test_a_retry_may_go_behind_what_was_never_tried(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=10)
    await bench.offer(*urls("a", 3))
    (slow,) = await bench.lease(1)
    await bench.complete([slow], Outcome.RETRY, delay_s=1.0, trail=slow.trail._replace(priority=-1))
    bench.clock.advance(1)
    assert names(await bench.lease()) == ["http://a/1", "http://a/2", "http://a/0"]


async def test_a_retry_with_a_new_priority_waits_while_its_host_is_blocked(bench: Bench) -> None:
    """The call that finds it due leases nothing, and no call after it may forget the request."""
    await bench.job(gap_s=0, per_host=2)
    await bench.offer("http://a/1")
    (first,) = await bench.lease()
    await bench.land([first], 429, retry_after_s=60.0)
    await bench.complete([first], Outcome.RETRY, delay_s=1.0, trail=first.trail._replace(priority=-1))
    bench.clock.advance(30)
    assert await bench.lease() == []
    bench.clock.advance(31)
    assert names(await bench.lease()) == ["http://a/1"]
    await bench.assert_balanced()


async def test_a_due_retry_goes_before_what_was_queued_after_it(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 10))
    first = await bench.lease(1)
    await bench.land(first, 500)
    await bench.complete(first, Outcome.RETRY, delay_s=1.0)
    bench.clock.advance(1)
    assert names(await bench.lease(1)) == ["http://a/0"]


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
