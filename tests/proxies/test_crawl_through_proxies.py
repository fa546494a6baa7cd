"""Crawls through pools of proxies on loopback. The site's log tells which way each request came."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.jobs.job_overview import Overview
from shoal.jobs.proxy_view import view_pool
from shoal.jobs.run_summary import EXIT_BLOCKED, exit_code
from shoal.model import Input, JobSpec, JobState, Politeness
from shoal.store.jobs import create_job
from shoal.store.results.listings import list_dead, list_pages
from shoal.urls import Exclusions, Params, target
from tests.frontier.redis_server import free_port
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.proxy_servers import dante, microsocks, tinyproxy

OWN = "127.0.0.1"


def make_job(home: Home, site: LoggedSite, **options: Any) -> str:
    politeness = Politeness(rate=options.pop("rate", 0), per_host=options.pop("per_host", Politeness().per_host))
    spec = JobSpec("site", politeness=politeness, allow_private=True, **options)
    job = f"job-{time.time_ns()}"
    create_job(home.store, job, lambda: spec, [Input(1, "", target(site.url, Params(), "host"))], time.time())
    return job


async def crawl(home: Home, site: LoggedSite, **options: Any) -> tuple[str, Overview]:
    job = make_job(home, site, **options)
    crawl = Crawl(home, job, 8, Exclusions(), secrets={"acme": "hush"})
    async with asyncio.timeout(60):
        return job, (await crawl.run()).overview


async def resume(home: Home, job: str) -> Overview:
    async with asyncio.timeout(60):
        return (await Crawl(home, job, 8, Exclusions(), secrets={"acme": "hush"}).run()).overview


async def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_real_proxies_carry_everything_and_nothing_goes_direct(tmp_path: Path) -> None:
    with ExitStack() as stack, Home(tmp_path / "home") as home:
        plain = stack.enter_context(tinyproxy(tmp_path, "127.0.0.2"))
        secured = stack.enter_context(tinyproxy(tmp_path, "127.0.0.3", password="hush"))
        socks = stack.enter_context(microsocks("127.0.0.4", password="hush"))
        open_socks = stack.enter_context(dante(tmp_path, "127.0.0.5"))
        listed = f"""
            # four proxies, and two that do not work
            127.0.0.1:{plain}
            http://ann:{{secret:ACME}}@127.0.0.1:{secured}  provider=acme name=with-login
            socks5h://ann:{{secret:ACME}}@127.0.0.1:{socks}
            socks5://127.0.0.1:{open_socks}
            http://ann:wrong@127.0.0.1:{secured}  name=wrong-login
            http://127.0.0.1:1
        """
        async with listening(LoggedSite(pages=60)) as site:
            job, seen = await crawl(home, site, proxy_pool=listed, sitemaps=True)
            assert seen.state is JobState.DONE and (seen.frontier.pages, seen.frontier.dead) == (64, 0)
            assert site.addresses == {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}
            assert {"/robots.txt", "/sitemap.xml", "/listed1"} <= {visit.path for visit in site.visits}
            pages = list(list_pages(home.store, job, {}))
        assert {page["attempts"] for page in pages} == {1}
        assert {page["via"] for page in pages} == {
            f"http via 127.0.0.1:{plain}",
            "http via with-login",
            f"http via 127.0.0.1:{socks}",
            f"http via 127.0.0.1:{open_socks}",
        }
        assert "hush" not in repr(pages)


@pytest.mark.parametrize("manner", ["dies", "407", "502", "lies", "refuses"])
async def test_a_bad_proxy_costs_the_page_and_its_host_nothing(tmp_path: Path, manner: str) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=30)))
            good = await stack.enter_async_context(listening(BadProxy("good")))
            bad = await stack.enter_async_context(listening(BadProxy(manner, "127.0.0.8")))
            job, seen = await crawl(home, site, proxies=(bad.url, good.url))
            assert seen.state is JobState.DONE and (seen.frontier.pages, seen.frontier.dead) == (30, 0)
            assert bad.requests < 10 < good.requests and OWN not in site.addresses
            assert {page["attempts"] for page in list_pages(home.store, job, {})} == {1}
            assert not seen.failures


async def test_the_rate_of_a_host_holds_over_all_proxies(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=12)))
            several = [await stack.enter_async_context(listening(BadProxy("good"))) for _ in range(6)]
            await crawl(home, site, proxies=tuple(proxy.url for proxy in several), rate=5)
            times = [visit.at for visit in site.visits if visit.path != "/robots.txt"]
            in_a_second = [sum(start <= at < start + 1 for at in times) for start in times]
            assert len(times) == 12 and max(in_a_second) <= 5 + 1, times
            assert sum(proxy.requests > 0 for proxy in several) > 1


async def test_no_variable_of_the_environment_leads_around_the_proxies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", OWN)
    with ExitStack() as stack, Home(tmp_path / "home") as home:
        socks = stack.enter_context(microsocks("127.0.0.4"))
        async with listening(LoggedSite(pages=8)) as site, listening(BadProxy("good", "127.0.0.9")) as proxy:
            _, seen = await crawl(home, site, proxies=(proxy.url, f"socks5h://127.0.0.1:{socks}"), sitemaps=True)
            assert seen.frontier.pages == 12 and site.addresses == {"127.0.0.4", "127.0.0.9"}


async def test_without_a_working_proxy_the_job_waits_and_says_so(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=5)))
            proxy = BadProxy("good", port=free_port())
            job = make_job(home, site, proxies=(proxy.url,))
            running = Crawl(home, job, 8, Exclusions())
            task = asyncio.create_task(running.run())
            await until(lambda: bool(running.note))
            assert running.note and f"no proxy works: 0 of 1 proxy; 127.0.0.1:{proxy.port} is tried" in running.note
            assert not site.visits
            await stack.enter_async_context(listening(proxy))
            async with asyncio.timeout(60):
                seen = (await task).overview
            assert seen.frontier.pages == 5 and OWN not in site.addresses


@pytest.mark.parametrize(
    ("status", "field", "outcome"),
    [
        ("407 Proxy Authentication Required", "Proxy-Authenticate: Basic", "proxy"),
        ("401 Unauthorized", "Server: squid", "proxy"),
        ("404 Not Found", "Server: squid", 404),
    ],
)
async def test_a_site_that_answers_like_a_proxy_stops_neither_the_proxies_nor_the_job(
    tmp_path: Path, status: str, field: str, outcome: str | int
) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(forged=(status, field))))
            several = [await stack.enter_async_context(listening(BadProxy("good"))) for _ in range(4)]
            options = {"proxies": tuple(proxy.url for proxy in several), "retries": 0}
            job, _ = await crawl(home, site, **options)
            dead = [letter["reason"] for letter in list_dead(home.store, job, {})]
            pages = [page["status"] for page in list_pages(home.store, job, {})]
            assert [*dead, *pages] == [outcome]
            pool = view_pool(home.store, {}, f"job {job}")
            assert not any(proxy["cooling_until"] for proxy in pool["proxies"])


async def test_only_a_job_that_asks_for_it_goes_direct(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with listening(LoggedSite(pages=5)) as site:
            job, seen = await crawl(home, site, proxies=("http://127.0.0.1:1",), direct_fallback=True)
            assert seen.frontier.pages == 5 and site.addresses == {OWN}
            assert {page["via"] for page in list_pages(home.store, job, {})} == {"http via direct"}


async def test_a_blocked_proxy_is_left_for_another_and_then_for_a_higher_tier(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(
                listening(LoggedSite(pages=10, blocked={"127.0.0.11", "127.0.0.12"}))
            )
            cheap = [await stack.enter_async_context(listening(BadProxy("good", f"127.0.0.1{n}"))) for n in (1, 2)]
            dear = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.13")))
            listed = "\n".join([*(proxy.url for proxy in cheap), f"{dear.url} tier=2 price=0.01/request"])
            _, seen = await crawl(home, site, proxy_pool=listed)
            assert (seen.frontier.pages, seen.frontier.dead) == (10, 0)
            assert sum(proxy.requests for proxy in cheap) < 10


async def test_a_block_is_a_dead_letter_that_says_who_blocks(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=5, blocked={OWN, "127.0.0.9"})))
            proxy = await stack.enter_async_context(listening(BadProxy("good")))
            for way in ({}, {"proxies": (proxy.url,)}):
                job, seen = await crawl(home, site, **way)
                (letter,) = list_dead(home.store, job, {})
                assert (letter["reason"], letter["status"]) == ("blocked", 403)
                assert "blocked by Cloudflare" in letter["detail"] and "solves no challenge" in letter["detail"]
                assert exit_code(seen) == EXIT_BLOCKED and not list(list_pages(home.store, job, {}))
                assert [(group.kind, group.status) for group in seen.failures] == [("blocked", 403)]
            assert f"through 127.0.0.1:{proxy.port}" in letter["detail"]


async def test_a_host_stays_with_its_proxy_until_it_fails(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=15)))
            several = [await stack.enter_async_context(listening(BadProxy("good"))) for _ in range(5)]
            options = {"proxies": tuple(proxy.url for proxy in several), "sticky_proxy": True}
            await crawl(home, site, **options)
            (used,) = (proxy for proxy in several if proxy.requests)
            used.manner, before = "407", used.requests
            await crawl(home, site, **options)
            # The time may have come to change the proxy anyway.
            assert used.requests - before <= 1 and sum(bool(proxy.requests) for proxy in several) >= 2


async def test_a_gateway_gets_a_session_and_the_region_in_the_user_name(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=8)))
            gateway = await stack.enter_async_context(listening(BadProxy("good")))
            other = await stack.enter_async_context(listening(BadProxy("good")))
            user = "ann-session-{session}-country-{region}:{secret:ACME}"
            listed = f"http://{user}@127.0.0.1:{gateway.port} provider=acme\n{other.url} region=us"
            job, _ = await crawl(home, site, proxy_pool=listed, region="de")
            assert gateway.requests and not other.requests
            (shown, _) = view_pool(home.store, {}, f"job {job}")["proxies"]
            assert (shown["provider"], shown["requests"], "hush" in repr(shown)) == (
                "acme",
                gateway.requests - 1,
                False,
            )
            users = {_user(login) for login in gateway.logins}
            assert len(users) == len(gateway.logins)
            assert all(user.startswith("ann-session-") and user.endswith("-country-de:hush") for user in users)


def _user(header: str) -> str:
    return b64decode(header.removeprefix("Basic ")).decode()


async def test_a_job_that_is_stopped_and_continued_never_goes_direct(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=40)))
            proxy = await stack.enter_async_context(listening(BadProxy("good")))
            job = make_job(home, site, proxies=(proxy.url,), rate=20)
            first = Crawl(home, job, 8, Exclusions())
            task = asyncio.create_task(first.run())
            await until(lambda: len(site.visits) >= 5)
            first.engine.stop()
            assert (await task).overview.state is JobState.INTERRUPTED
            async with asyncio.timeout(60):
                seen = (await Crawl(home, job, 8, Exclusions()).run()).overview
            assert seen.frontier.pages == 40 and site.addresses == {"127.0.0.9"}
