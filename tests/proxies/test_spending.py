"""What proxies cost, and the limit of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from shoal.embedded.home import Home, caller_of
from shoal.engine.proxies.job_exits import JobExits
from shoal.engine.proxies.learn_rows import changed_rows
from shoal.engine.proxies.load_pool import ProxySettings, load_exits
from shoal.fetch.proxies.blame import Blame, Judgement
from shoal.fetch.proxies.exits import Exit, NoProxy
from shoal.fetch.proxies.pool import ProxyPool
from shoal.model import MILLION, JobSpec, JobState, Lease, Limits, Target, Trail
from shoal.model.proxy_list import read_proxies
from shoal.store.job_changes import change_spec
from shoal.store.proxies.costs import cost_since
from shoal.store.proxies.figures import add_proxy_figures
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import crawl, make_job, resume


async def test_a_job_ends_when_it_has_spent_its_limit_and_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=30)))
            proxy = await stack.enter_async_context(listening(BadProxy("good")))
            down = "http://127.0.0.1:1 price=100/request"
            listed = f"{proxy.url} price=0.1/request\n{down}"
            limits = Limits(cost=1.0)
            job, seen = await crawl(home, site, proxy_pool=listed, limits=limits)
            assert (seen.state, seen.job.reason) == (JobState.LIMITED, "its limit of cost is reached")
            # Two requests at a time to one host: one may be in flight when the limit is reached. What does not work is
            # not paid for.
            assert 10 <= proxy.requests <= 11
            assert seen.stored.cost == proxy.requests / 10

            change_spec(home.store, job, lambda spec: spec.with_fields({"limits": {"cost": 100.0}}), None, 0.0)
            seen = await resume(home, job)
            assert seen.state is JobState.DONE and seen.frontier.pages == 30
            assert seen.stored.cost == proxy.requests / 10 == 3.1, "30 pages and robots.txt"


class LosingSite(LoggedSite):
    """While it answers the 5th and the 10th request, the leases of the job expire."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self.visits) + 1 in (5, 10):
            await self.expire()
        await super().serve(reader, writer)

    expire: Callable[[], Awaitable[object]]


async def test_what_a_request_with_an_expired_lease_cost_counts_towards_the_limit(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = LosingSite(pages=30)
            await stack.enter_async_context(listening(site))
            proxy = await stack.enter_async_context(listening(BadProxy("good")))
            pool = f"{proxy.url} price=0.1/request"
            job = make_job(home, site, proxy_pool=pool, limits=Limits(cost=1.0), per_host=1)
            site.expire = lambda: home.frontier.reap(gone=[caller_of(job)])
            seen = await resume(home, job)
    assert (seen.state, seen.job.reason) == (JobState.LIMITED, "its limit of cost is reached")
    assert proxy.requests == 10 and seen.stored.cost == 1.0


@pytest.mark.parametrize("prices", [(0.1, 0.7), (0.7, 0.1), (0.1, 0.2, 0.3)])
def test_nothing_waits_for_requests_that_have_ended(prices: tuple[float, ...]) -> None:
    """Sums of prices leave a rest, and the limit may be lower than what was spent."""
    proxies = [f"http://p{n}.test:1 price={price}/request concurrency=1" for n, price in enumerate(prices)]
    pool = ProxyPool("p", read_proxies("\n".join(proxies)))
    exits = JobExits(pool, spent=2 * MILLION)
    wanted = Lease(1, "j", Target("http://a.test/", 1, "a.test"), Trail(), 0, 0, 0.0, 0.0, False, 1)
    taken = [pool.choose("a.test") for _ in prices]
    for exit in taken:
        assert isinstance(exit, Exit)
        assert isinstance(exits.choose(wanted, 1.0), NoProxy), "one is in flight"
        pool.end(exit)
    assert pool.in_flight_cost == 0 and isinstance(exits.choose(wanted, 1.0), Exit)


def test_a_limit_of_a_pool_holds_over_all_jobs_that_use_it(tmp_path: Path) -> None:
    settings = ProxySettings({"europe": "http://a.test:1 price=1/request\nmax_cost=3/month"})

    def use(pool: ProxyPool) -> bool:
        exit = pool.choose("h.test")
        if isinstance(exit, Exit):
            pool.note(exit, Judgement(Blame.NOBODY, latency_s=0.1, size=1000))
            pool.end(exit)
        return isinstance(exit, Exit)

    with Home(tmp_path / "home") as home:
        for name, most in (("one", 2), ("two", 1), ("three", 0)):
            exits = load_exits(JobSpec(name=name, proxy_pool="europe"), name, home.store, settings)
            assert exits is not None
            assert [use(exits.pool) for _ in range(2)] == [place < most for place in range(2)]
            add_proxy_figures(home.store, list(changed_rows(exits.pool, time.time())))
        assert exits is not None
        assert "all jobs together have spent the 3 of the pool europe" in (exits.pool.waiting or "")
        # The next month.
        exits.pool.spending.note_saved(0.0, cost_since(home.store, "europe", int(time.time() // 86_400) + 31))
        assert use(exits.pool) and exits.pool.waiting is None


async def test_a_block_page_is_paid_for_and_a_price_by_size_counts_bytes(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=5, blocked={"127.0.0.9"})))
            proxy = await stack.enter_async_context(listening(BadProxy("good")))
            _, seen = await crawl(home, site, proxy_pool=f"{proxy.url} price=0.25/request")
            assert seen.stored.cost == 0.5 == proxy.requests / 4
            site.blocked.clear()
            _, seen = await crawl(home, site, proxy_pool=f"{proxy.url} price=1000000/GB")
            assert 5 * 0.1 < seen.stored.cost < 5 * 1.0
