"""What every frontier promises of offers: what is taken, what is remembered, and where a request stands."""

from __future__ import annotations

from shoal.model import Offer, Outcome, Trail
from tests.frontier.conftest import Bench, names, target, urls


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
    await bench.fetch(await bench.lease(1))
    await bench.restart()
    assert await bench.offer(*urls("a", 3)) == 0
    assert names(await bench.lease()) == urls("a", 2, start=1)


async def test_jobs_do_not_share_what_they_have_seen(bench: Bench) -> None:
    await bench.job("one")
    await bench.job("two")
    assert await bench.offer("http://a/1", job="one") == 1
    assert await bench.offer("http://a/1", job="two") == 1


async def test_requests_with_bodies_and_meta_come_back_whole(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    posted = target("http://a/form")._replace(method="POST", body=b"a=1\n\xff", content_type="text/plain")
    trail = Trail(depth=3, priority=1, parent=-5, callback="detail", meta={"page": [1, 2]}, chain=(1, -2))
    await bench.frontier.offer(bench.caller.next(), [Offer("job", [posted], trail)])
    (lease,) = await bench.lease()
    assert lease.target._replace(fingerprint=0) == posted._replace(fingerprint=0)
    assert lease.trail == trail


async def test_dead_letters_are_revived_once(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=5)
    await bench.offer(*urls("a", 2))
    leases = await bench.lease()
    await bench.complete(leases, Outcome.DEAD)
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
        return await bench.frontier.request_state("job", sought.fingerprint, sought.host)

    leases = await bench.lease(1)
    assert (await where(one.url), await where(two.url), await where("http://a/9")) == ("leased", "queued", None)
    await bench.complete(leases, Outcome.RETRY, delay_s=3.0)
    assert await where(one.url) == "waiting"
    bench.clock.advance(3)
    await bench.fetch(await bench.lease(1))
    assert await where(one.url) == "seen"
