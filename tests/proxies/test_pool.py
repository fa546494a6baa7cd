"""The choice among proxies, with a clock and a chance of the test's own."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from shoal.errors import UsageError
from shoal.fetch.proxies.blame import Blame, Judgement
from shoal.fetch.proxies.exits import Exit, NoProxy
from shoal.fetch.proxies.pool import ProxyPool
from shoal.fetch.proxies.proxy_record import FIRST_COOL_S, MOST_COOL_S
from shoal.model.proxy_list import read_proxies

GOOD = Judgement(Blame.NOBODY, latency_s=0.1, size=1000)
DOWN = Judgement(Blame.PROXY, "connection refused")
UNCLEAR = Judgement(Blame.UNCLEAR, "broke off")
BLOCK = Judgement(Blame.BLOCK, "blocked by Cloudflare")


class Pool(ProxyPool):
    """A pool with a clock that stands still until a test moves it."""

    def __init__(self, text: str, **options: object) -> None:
        self.now = 1_000_000.0
        super().__init__("p", read_proxies(text), clock=lambda: self.now, chance=random.Random(7), **options)  # type: ignore[arg-type]

    def use(self, judgement: Judgement, host: str = "a.test", **options: str) -> tuple[str, Blame]:
        exit = self.take(host, **options)
        self.end(exit)
        return exit.name, self.note(exit, judgement)

    def take(self, host: str = "a.test", **options: str) -> Exit:
        exit = self.choose(host, **options)
        assert isinstance(exit, Exit)
        return exit


def listed(n: int, more: str = "") -> str:
    return "\n".join(f"http://p{place}.test:1 {more}" for place in range(n))


def test_with_a_third_of_bad_proxies_few_requests_fail_after_300() -> None:
    pool = Pool(listed(1000))
    failed = 0
    for n in range(2_300):
        exit = pool.take(f"h{n % 3}.test")
        bad = exit.place % 10 < 3
        pool.note(exit, DOWN if bad else GOOD)
        pool.end(exit)
        pool.now += 0.01
        failed += bad and n >= 300
    assert failed / 2_000 < 0.02


def test_what_works_and_is_quick_is_used_most_but_not_alone() -> None:
    pool = Pool(listed(3))
    seen: Counter[int] = Counter()
    for _ in range(2_000):
        exit = pool.take()
        pool.note(exit, Judgement(Blame.NOBODY, latency_s=(0.05, 1.0, 3.0)[exit.place]))
        pool.end(exit)
        seen[exit.place] += 1
    assert seen[0] > 3 * seen[1] > 3 * seen[2] > 0


def test_a_proxy_that_is_down_cools_twice_as_long_each_time_and_returns_by_one_request() -> None:
    pool = Pool(listed(1))
    for n in range(10):
        assert pool.use(DOWN)[1] is Blame.PROXY
        wait_s = min(FIRST_COOL_S * 2**n, MOST_COOL_S)
        pool.now += wait_s - 0.1
        assert isinstance(pool.choose("b.test"), NoProxy) and "0 of 1 proxy" in (pool.waiting or "")
        pool.now += 0.2
    assert "p0.test:1 is tried now (connection refused)" in (pool.waiting or ""), "nothing has worked yet"
    probe = pool.take()
    assert isinstance(pool.choose("b.test"), NoProxy)
    pool.note(probe, GOOD)
    pool.end(probe)
    assert pool.take().name == "p0.test:1" and pool.waiting is None


def test_a_host_that_fails_through_three_proxies_is_to_blame_itself() -> None:
    pool = Pool(listed(10))
    assert [pool.use(UNCLEAR)[1] for _ in range(4)] == [Blame.PROXY, Blame.PROXY, Blame.HOST, Blame.HOST]
    assert pool.use(GOOD, "b.test")[1] is Blame.NOBODY
    alone = Pool(listed(1))
    assert alone.use(UNCLEAR)[1] is Blame.HOST


def test_a_proxy_that_breaks_everywhere_cools_for_all_hosts() -> None:
    pool = Pool("http://bad.test:1\nhttp://good.test:1")
    for n in range(200):
        exit = pool.take(f"h{n}.test")
        pool.note(exit, UNCLEAR if exit.name == "bad.test:1" else GOOD)
        pool.end(exit)
    assert pool.records[0].is_cooled and not pool.records[1].is_cooled


def test_a_block_is_avoided_at_its_host_only_and_leads_to_the_next_tier() -> None:
    pool = Pool(f"{listed(4)}\nhttp://dear.test:1 tier=2")
    blocked = [pool.use(BLOCK)[0] for _ in range(3)]
    assert len(set(blocked)) == 3 and "dear.test:1" not in blocked
    assert pool.take().name == "dear.test:1" and pool.take("b.test").name != "dear.test:1"
    pool.now += 601
    assert pool.take().name != "dear.test:1"


def test_regions_are_kept_and_an_unknown_one_is_named() -> None:
    pool = Pool("http://de.test:1 region=de\nhttp://us.test:1 region=us", region="de")
    assert {pool.use(GOOD)[0] for _ in range(50)} == {"de.test:1"}
    assert {pool.use(GOOD, region="us")[0] for _ in range(50)} == {"us.test:1"}
    with pytest.raises(UsageError, match="no proxy of p is in region fr: there are de, us"):
        Pool("http://de.test:1 region=de\nhttp://us.test:1 region=us", region="fr")


def test_a_session_keeps_its_proxy_until_it_is_blocked_or_old() -> None:
    pool = Pool(listed(20))
    first = {pool.use(GOOD, session="ann")[0] for _ in range(50)}
    other = Pool(listed(20))
    assert len(first) == 1 and {other.use(GOOD, session="ann")[0]} == first, "all processes choose the same"
    pool.use(BLOCK, session="ann")
    assert {pool.use(GOOD, session="ann")[0] for _ in range(50)}.isdisjoint(first)
    assert len({pool.use(GOOD, session=f"s{n}")[0] for n in range(50)}) > 5


@pytest.mark.parametrize("session", ["ann", ""])
def test_a_session_waits_for_its_proxy_and_takes_no_other(session: str) -> None:
    pool = Pool("\n".join(f"http://p{n}.test:1 concurrency=1" for n in range(5)), sticky=True)
    proxy, _ = pool.use(GOOD, session=session)
    held = pool.take(session=session)
    assert held.name == proxy and isinstance(pool.choose("a.test", session), NoProxy)
    pool.end(held)
    assert pool.take(session=session).name == proxy


def test_a_job_that_may_go_direct_waits_for_a_proxy_that_has_only_no_room() -> None:
    pool = Pool("http://a.test:1 concurrency=1", direct_fallback=True)
    held = pool.take()
    assert isinstance(pool.choose("a.test"), NoProxy)
    pool.note(held, DOWN)
    pool.end(held)
    assert pool.take().name == "direct"


def test_a_request_that_was_never_sent_costs_nothing_and_figures_agree_with_costs() -> None:
    pool = Pool("http://a.test:1 price=1/request")
    for judgement in (GOOD, UNCLEAR, Judgement(Blame.HOST, "the certificate is refused")):
        exit = pool.take()
        pool.note(exit, judgement)
        pool.end(exit)
    assert pool.spending.take_unreported() == 2_000_000 and pool.records[0].fresh.cost == 2


def test_costs_add_up_to_whole_millionths() -> None:
    pool = Pool("http://a.test:1 price=0.3/request")
    for _ in range(9):
        pool.use(GOOD)
    assert pool.spending.take_unreported() == 2_700_000


def test_concurrency_and_rate_of_a_proxy_are_kept() -> None:
    pool = Pool("http://a.test:1 concurrency=2 rate=4")
    held = [pool.take()]
    assert isinstance(pool.choose("a.test"), NoProxy)
    pool.now += 0.25
    held.append(pool.take())
    pool.now += 0.25
    assert isinstance(pool.choose("a.test"), NoProxy) and pool.waiting is None
    pool.end(held[0])
    assert pool.take()


def test_without_any_proxy_only_a_job_that_asks_for_it_goes_direct() -> None:
    pool = Pool(listed(1), direct_fallback=True)
    assert pool.use(DOWN)[0] == "p0.test:1"
    direct = pool.take()
    assert (direct.name, direct.url) == ("direct", "") and pool.note(direct, UNCLEAR) is Blame.HOST
