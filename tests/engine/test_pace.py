"""The hosts' rates and caps, judged from the site's own log."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from shoal.practice import Shop, running
from tests.engine.conftest import Field, spec
from tests.fetch.site import Asked, Route, Site, answer, drip, hang, raw, serving
from tests.politeness import assert_polite, max_in_window


async def test_three_jobs_and_a_restart_never_exceed_a_hosts_rate(crawler: Field, tmp_path: Path) -> None:
    shop = Shop(hosts=2, categories=2, products=20, troubled=False)
    with running(shop, log=tmp_path / "log", latency_ms=30, jitter_ms=20) as site:
        for job in ("one", "two", "three"):
            crawler.add(job, spec(rate=10, per_host=2), site.url(), site.url("/", shop.addresses[1]))
        await crawler.run("one", "two", "three", for_s=2.0)
        await crawler.run("one", "two", "three", for_s=2.0)
        log = site.log()
    assert len(log) > 20
    assert_polite(log, rate=10, per_host=2)
    for job in ("one", "two", "three"):
        assert (await crawler.figures(job)).frontier.pages > 1


async def test_a_host_that_closes_connections_without_an_answer_still_sees_no_more_than_its_rate(
    crawler: Field,
) -> None:
    times: list[float] = []
    answered: set[int] = set()
    links = "".join(f"<a href=/{n}>{n}</a>" for n in range(100)).encode()

    async def every_second_swallowed(asked: Asked, writer: asyncio.StreamWriter) -> None:
        times.append(time.monotonic())
        swallow = asked.connection in answered
        answered.add(asked.connection)
        page = raw() if swallow else answer(links, headers=("Content-Type: text/html",))
        await page(asked, writer)

    async with serving(Site(otherwise=every_second_swallowed)) as site:
        crawler.add("job", spec(rate=10, per_host=8, robots=False), site.url)
        await crawler.run("job", for_s=3.0)
    windows = [sum(start <= t < start + 1 for t in times) for start in times]
    assert len(times) > 10
    assert max(windows) <= 11


@pytest.mark.parametrize("trick", [hang, drip])
async def test_hosts_that_never_answer_or_never_end_do_not_take_every_place(crawler: Field, trick: Route) -> None:
    """There are more of them than places; they are given first."""
    times: list[float] = []
    enough = asyncio.Event()
    links = "".join(f"<a href=/{n}>{n}</a>" for n in range(100)).encode()

    async def quick(asked: Asked, writer: asyncio.StreamWriter) -> None:
        times.append(time.monotonic())
        if len(times) == 20:
            enough.set()
        await answer(links, headers=("Content-Type: text/html",))(asked, writer)

    async with serving(Site(otherwise=quick)) as site, AsyncExitStack() as mute:
        hosts = [await mute.enter_async_context(serving(Site(otherwise=trick))) for _ in range(80)]
        crawler.add("job", spec(rate=10, robots=False, retries=0), *(f"{host.url}/" for host in hosts), f"{site.url}/")
        crawling = asyncio.create_task(crawler.run("job", until=enough))
        async with asyncio.timeout(120):
            await enough.wait()
        await mute.aclose()
        await crawling


async def test_a_low_rate_holds_over_a_restart(crawler: Field, tmp_path: Path) -> None:
    with running(Shop(hosts=1, products=20, troubled=False), log=tmp_path / "log") as site:
        crawler.add("job", spec(rate=1, per_host=2), site.url())
        for _ in range(4):
            await crawler.run("job", for_s=0.7)
        log = site.log()
    assert_polite(log, rate=1, per_host=2)
    assert len(log) >= 2


async def test_a_host_that_slows_tenfold_is_asked_half_as_often_and_then_again_as_before(
    crawler: Field, tmp_path: Path
) -> None:
    shop = Shop(hosts=1, categories=5, products=400, troubled=False)
    with running(shop, log=tmp_path / "log", latency_ms=15) as site:
        crawler.add("job", spec(rate=20, per_host=8), site.url())
        await crawler.run("job", for_s=2.0)
        before = len(site.log())
        site.control(latency_ms=150)
        await crawler.run("job", for_s=4.0)
        host = shop.addresses[0]
        slowed = site.log()[before:]
        assert max_in_window(slowed[24:], host) <= 11
        (clock,) = await crawler.home.frontier.hosts()
        assert clock.slowdown >= 2
        assert_polite(site.log(), rate=20, per_host=8)
