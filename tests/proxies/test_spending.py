"""What proxies cost, and the limit of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from shoal.embedded.home import Home
from shoal.model import JobState, Limits
from shoal.store.jobs import change_spec
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import crawl, resume


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
