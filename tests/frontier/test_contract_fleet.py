"""What workers beside each other need of a frontier: lanes to sleep by, editions, the dead among them, and a way back
from a frontier that was lost."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from shoal.errors import FrontierLost
from shoal.frontier.contract import Caller, Ended, Terms
from shoal.model import Completion, Landing, Lane, Lease, Outcome, Trail
from tests.frontier.conftest import Bench, names, target, urls


async def test_only_the_lanes_asked_for_count_as_ready(bench: Bench) -> None:
    await bench.job("slow", gap_s=0, per_host=1, lane=Lane.SLOW)
    await bench.offer("http://a/1", job="slow")
    assert await bench.frontier.next_ready_in([Lane.EXPRESS, Lane.BATCH]) is None
    assert await bench.frontier.next_ready_in([Lane.BATCH, Lane.SLOW]) == 0
    assert await bench.frontier.next_ready_in() == 0


async def seconds_of_wait(bench: Bench, timeout_s: float, lanes: Sequence[Lane]) -> float:
    began = time.monotonic()
    await bench.frontier.wait(timeout_s, lanes)
    return time.monotonic() - began


async def test_a_sleeper_of_another_lane_sleeps_on(bench: Bench) -> None:
    await bench.job("slow", gap_s=0, per_host=1, lane=Lane.SLOW)
    sleeper = asyncio.create_task(seconds_of_wait(bench, 0.7, [Lane.EXPRESS]))
    for place in range(20):
        await bench.offer(f"http://h{place}/", job="slow")
        await asyncio.sleep(0.02)
    assert await sleeper >= 0.65
    assert await seconds_of_wait(bench, 20, [Lane.SLOW]) < 15


async def test_a_sleeper_wakes_when_its_lane_has_something(bench: Bench) -> None:
    await bench.job("express", gap_s=0, per_host=1, lane=Lane.EXPRESS)
    sleeper = asyncio.create_task(seconds_of_wait(bench, 20, [Lane.EXPRESS]))
    await asyncio.sleep(0.05)
    await bench.offer("http://a/1", job="express")
    assert await sleeper < 15


async def test_a_lease_carries_the_edition_its_job_had(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=9)
    await bench.offer(*urls("a", 4))
    (first,) = await bench.lease(1)
    await bench.frontier.touch("job")
    (second,) = await bench.lease(1)
    await bench.job(gap_s=0, per_host=9)
    (third,) = await bench.lease(1)
    assert [second.edition, third.edition] == [first.edition + 1, first.edition + 2]


async def test_a_repeated_lease_carries_the_edition_of_the_first(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=9)
    await bench.offer("http://a/1")
    call = bench.caller.next()
    first = await bench.frontier.lease(call, 1)
    await bench.frontier.touch("job")
    assert await bench.frontier.lease(call, 1) == first


async def test_editions_rise_over_a_wipe(bench: Bench) -> None:
    editions = []
    for _ in range(2):
        await bench.job(gap_s=0, per_host=9)
        await bench.frontier.touch("job")
        await bench.offer("http://a/1")
        editions += [lease.edition for lease in await bench.lease()]
        bench.clock.advance(5)
        await bench.lose()
    assert editions[0] < editions[1]


async def test_leases_of_callers_who_are_gone_return_at_once(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=9)
    await bench.offer(*urls("a", 6))
    dead, alive = Caller("dead"), Caller("alive")
    lost = await bench.frontier.lease(dead.next(), 3)
    kept = await bench.frontier.lease(alive.next(), 2)
    assert await bench.frontier.reap([lost[1].token], ["dead", "never heard of"]) == 3
    assert await bench.frontier.extend(alive.next(), [lease.token for lease in [*lost, *kept]]) == [
        lease.token for lease in kept
    ]
    again = await bench.lease()
    assert names(again) == [*names(lost), "http://a/5"]
    assert [lease.crashes for lease in again] == [0, 1, 0, 0]
    await bench.assert_balanced()


async def test_a_caller_with_hundreds_of_leases_loses_them_all(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1000)
    await bench.offer(*urls("a", 700))
    dead, alive = Caller("dead"), Caller("alive")
    for _ in range(5):
        await bench.frontier.lease(dead.next(), 70)
        await bench.frontier.lease(alive.next(), 70)
    assert await bench.frontier.reap(gone=["dead"]) == 350
    assert (await bench.frontier.figures("job")).leased == 350
    await bench.assert_balanced()


async def test_a_lease_lasts_as_long_as_the_frontier_says(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=9)
    await bench.offer("http://a/1")
    await bench.lease()
    bench.clock.advance(bench.frontier.lease_s - 0.1)
    assert await bench.frontier.reap() == 0
    bench.clock.advance(0.2)
    assert await bench.frontier.reap() == 1


async def test_an_erased_job_is_not_known_and_begins_anew(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3))
    (held,) = await bench.lease()
    await bench.frontier.erase("job")
    with pytest.raises(FrontierLost):
        await bench.frontier.figures("job")
    with pytest.raises(FrontierLost):
        await bench.offer("http://a/9")
    assert await bench.frontier.complete(bench.caller.next(), [Completion(held.token, Outcome.DONE)]) == [False]
    bench.clock.advance(bench.frontier.lease_s + 1)
    await bench.frontier.reap()
    await bench.job(gap_s=0, per_host=1)
    assert (await bench.frontier.figures("job")).found == 0
    await bench.offer(*urls("a", 3))
    assert len(await bench.lease()) == 1
    await bench.assert_balanced()


@pytest.mark.parametrize(("word", "leased"), [("pause", 0), ("cancel", 0), ("resume", 2)])
async def test_new_terms_leave_a_job_as_active_as_it_is(bench: Bench, word: str, leased: int) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3))
    await getattr(bench.frontier, word)("job")
    await bench.frontier.change("job", Terms(gap_s=0, per_host=2))
    assert len(await bench.lease()) == leased


@pytest.mark.parametrize("word", ["pause", "cancel"])
async def test_a_job_that_was_not_lost_stays_as_it_is_when_it_is_restored(bench: Bench, word: str) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer(*urls("a", 3))
    await getattr(bench.frontier, word)("job")
    await bench.frontier.open_job("job", Terms(gap_s=0), lost=True)
    assert await bench.lease() == []


async def test_a_job_that_is_not_known_has_no_terms_to_change(bench: Bench) -> None:
    with pytest.raises(FrontierLost):
        await bench.frontier.change("gone", Terms())


@pytest.mark.parametrize(
    "verb",
    [
        "touch",
        "pause",
        "resume",
        "cancel",
        "forget",
        "erase",
        "idle_reason",
        "end_reason",
        "wait_reason",
        "ready_hosts",
        "figures",
    ],
)
async def test_a_job_nobody_opened_is_a_lost_one(bench: Bench, verb: str) -> None:
    with pytest.raises(FrontierLost, match="`shoal rebuild gone` restores it"):
        await getattr(bench.frontier, verb)("gone")


async def test_offers_and_endings_of_an_unknown_job_are_refused(bench: Bench) -> None:
    with pytest.raises(FrontierLost):
        await bench.offer("http://a/1", job="gone")
    with pytest.raises(FrontierLost):
        await bench.frontier.recall(bench.caller.next(), "gone", [ended("http://a/1")])
    with pytest.raises(FrontierLost):
        await bench.frontier.revive(bench.caller.next(), "gone", [(target("http://a/1"), Trail())])


def ended(url: str, outcome: Outcome = Outcome.DONE, size: int = 0, reason: str = "") -> Ended:
    found = target(url)
    return Ended(found.fingerprint, found.host, outcome, size, reason)


async def test_what_is_recalled_is_counted_and_not_queued(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=9)
    endings = [
        ended("http://a/1", size=10),
        ended("http://a/2", Outcome.REDIRECT),
        ended("http://a/3", Outcome.DEAD),
        ended("http://b/1", Outcome.DROP, reason="robots"),
        ended("http://b/2", Outcome.DROP, reason="robots"),
        ended("http://a/1", size=10),
    ]
    call = bench.caller.next()
    assert await bench.frontier.recall(call, "job", endings) == 5
    assert await bench.frontier.recall(call, "job", endings) == 5
    assert await bench.frontier.recall(bench.caller.next(), "job", endings) == 0
    figures = await bench.frontier.figures("job")
    assert (figures.found, figures.queued, figures.pages, figures.redirects, figures.dead) == (5, 0, 1, 1, 1)
    assert figures.dropped == {"robots": 2}
    assert await bench.offer("http://a/1", "http://b/2", "http://a/9") == 1
    assert names(await bench.lease()) == ["http://a/9"]


async def test_a_lost_job_takes_no_offers_until_it_has_been_told_what_has_ended(bench: Bench) -> None:
    terms = Terms(gap_s=0, per_host=9)
    for _ in range(2):  # whoever did so first may have died
        await bench.frontier.open_job("job", terms, lost=True)
        with pytest.raises(FrontierLost):
            await bench.offer("http://a/1")
        assert await bench.frontier.idle_reason("job") is None
    assert await bench.frontier.recall(bench.caller.next(), "job", [ended("http://a/1")]) == 1
    await bench.frontier.open_job("job", terms)
    assert await bench.offer("http://a/1", "http://a/2") == 1
    await bench.frontier.open_job("job", terms, lost=True)
    assert await bench.offer("http://a/3") == 1  # it was known
    assert names(await bench.lease()) == ["http://a/2", "http://a/3"]


async def test_a_recall_changes_nothing_of_what_is_queued_or_leased(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.offer("http://a/1", "http://a/2")
    leases = await bench.lease()
    before = await bench.frontier.figures("job")
    assert await bench.frontier.recall(bench.caller.next(), "job", [ended("http://a/1"), ended("http://a/2")]) == 0
    assert await bench.frontier.figures("job") == before
    assert await bench.complete(leases) == [True]
    assert names(await bench.lease()) == ["http://a/2"]


async def test_recalled_pages_and_bytes_use_up_limits(bench: Bench) -> None:
    await bench.job("pages", gap_s=0, per_host=9, pages=3)
    await bench.frontier.recall(bench.caller.next(), "pages", [ended("http://a/1"), ended("http://a/2", Outcome.DEAD)])
    await bench.offer(*urls("b", 9), job="pages")
    assert len(await bench.lease()) == 2
    await bench.job("here", gap_s=0, per_host=9, pages_per_host=3)
    await bench.frontier.recall(bench.caller.next(), "here", [ended("http://c/1"), ended("http://c/2", Outcome.DROP)])
    await bench.offer(*urls("c", 9, start=3), job="here")
    assert len(await bench.lease()) == 2
    await bench.job("bytes", gap_s=0, per_host=9, bytes=100)
    await bench.frontier.recall(bench.caller.next(), "bytes", [ended("http://d/1", size=100)])
    assert await bench.frontier.end_reason("bytes") == "bytes"


async def test_a_host_known_from_recalled_pages_is_not_unreachable(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.frontier.recall(bench.caller.next(), "job", [ended("http://a/0")])
    await bench.offer("http://a/1")
    for _ in range(3):
        leases = await bench.lease()
        assert [lease.unreachable for lease in leases] == [False]
        await bench.frontier.landed(bench.caller.next(), [Landing(leases[0].token, 9.0, None, "timeout")])
        await bench.complete(leases, Outcome.RETRY, delay_s=20.0)
        bench.clock.advance(20)


async def test_a_recalled_dead_letter_can_be_revived(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=1)
    await bench.frontier.recall(bench.caller.next(), "job", [ended("http://a/1", Outcome.DEAD)])
    assert await bench.frontier.revive(bench.caller.next(), "job", [(target("http://a/1"), Trail())]) == 1
    assert names(await bench.lease()) == ["http://a/1"]
    await bench.assert_balanced()


class Site:
    """A crawl of pages with known endings, and what a store would have kept of it."""

    OUTCOMES = (Outcome.DONE, Outcome.DONE, Outcome.DONE, Outcome.REDIRECT, Outcome.DEAD, Outcome.DROP, Outcome.RETRY)

    def __init__(self, bench: Bench, **terms: int) -> None:
        self._bench = bench
        self._terms = terms
        self._chance = random.Random(7)
        self.found = [address for host in "abcdef" for address in urls(host, 60)]
        self.stored: dict[str, Ended] = {}

    async def begin(self) -> None:
        await self._bench.job("job", **self._terms)
        await self._bench.offer(*self.found)

    async def recall(self) -> None:
        await self._bench.job("job", **self._terms)
        endings = list(self.stored.values())
        for start in range(0, len(endings), 50):
            await self._bench.frontier.recall(self._bench.caller.next(), "job", endings[start : start + 50])

    async def crawl(self, calls: int, left: int) -> None:
        """`left` of each call are left to expire, or to be lost."""
        for _ in range(calls):
            leases = await self._bench.lease(16)
            if not leases and await self._bench.frontier.idle_reason("job"):
                return
            assert not {lease.target.url for lease in leases} & set(self.stored), "what had ended is leased again"
            await self._end(leases[left:])
            self._bench.clock.advance(5)
            await self._bench.frontier.reap()

    async def _end(self, leases: list[Lease]) -> None:
        outcomes = self._chance.choices(self.OUTCOMES, k=len(leases))
        ends = [Completion(lease.token, o, "robots", bytes=5) for lease, o in zip(leases, outcomes, strict=True)]
        assert all(await self._bench.frontier.complete(self._bench.caller.next(), ends))
        for lease, outcome in zip(leases, outcomes, strict=True):
            if outcome is not Outcome.RETRY:
                self.stored[lease.target.url] = ended(lease.target.url, outcome, 5, "robots")

    def pages(self) -> Counter[str]:
        """By host."""
        return Counter(end.host for end in self.stored.values() if end.outcome is Outcome.DONE)

    async def assert_counted(self) -> None:
        figures = await self._bench.frontier.figures("job")
        assert (figures.found, figures.pages) == (len(self.found), self.pages().total())
        await self._bench.assert_balanced()


@pytest.mark.parametrize("limit", [None, "pages", "pages_per_host"])
async def test_a_lost_frontier_is_rebuilt_from_what_was_stored(bench: Bench, limit: str | None) -> None:
    most = {"pages": 120, "pages_per_host": 20}
    site = Site(bench, gap_s=0, per_host=8, **({limit: most[limit]} if limit else {}))
    await site.begin()
    await site.crawl(8, left=2)
    assert 60 < len(site.stored) < 180
    await bench.lose()
    await site.recall()
    await site.begin()
    await site.assert_counted()
    await site.crawl(1000, left=0)
    await site.assert_counted()
    assert await bench.frontier.idle_reason("job") == (limit or "empty")
    if limit == "pages":
        assert site.pages().total() == most[limit]
    elif limit:
        assert max(site.pages().values()) == most[limit]


async def test_a_frontier_that_lost_nothing_takes_a_rebuilding(bench: Bench) -> None:
    site = Site(bench, gap_s=0, per_host=8)
    await site.begin()
    await site.crawl(8, left=2)
    before = await bench.frontier.figures("job")
    await site.recall()
    await site.begin()
    assert await bench.frontier.figures("job") == before
