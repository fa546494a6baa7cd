"""How often an engine turns to the frontier, and that nothing waits longer for it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from shoal import Page, spider
from shoal.embedded.home import Home
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Offer
from shoal.urls import Params, target
from tests.engine.conftest import Field, html, serving, spec

PAGES = 20


def calls(home: Home, verb: str) -> int:
    """How many calls of the verb were made. The frontier keeps the number of each caller's last one."""
    with closing(sqlite3.connect(home.path / "frontier.db")) as db:
        (n,) = db.execute("SELECT coalesce(sum(seq), 0) FROM call WHERE verb = ?", (verb,)).fetchone()
    return int(n)


async def test_at_a_rate_an_engine_makes_no_lease_call_that_finds_nothing(crawler: Field) -> None:
    links = "".join(f"<a href=/{n}>{n}</a>" for n in range(1, PAGES))
    async with serving({"/": html(links), **{f"/{n}": html() for n in range(1, PAGES)}}) as site:
        await crawler.crawl(spec(rate=50, per_host=2, robots=False), site.url("/"))
    assert len(crawler.pages()) == PAGES
    # The host is slowed down at most now and then: a start that was moved costs another call.
    assert calls(crawler.home, "lease") <= PAGES + 4
    # And each page ends with one call, or several with the same one.
    assert 0 < calls(crawler.home, "settle") <= PAGES
    assert calls(crawler.home, "complete") == calls(crawler.home, "offer") - 1 == 0


async def test_an_engine_that_is_alone_leases_several_requests_of_a_slow_host_with_one_call(crawler: Field) -> None:
    crawler.is_alone = True
    links = "".join(f"<a href=/{n}>{n}</a>" for n in range(1, PAGES))
    async with serving({"/": html(links), **{f"/{n}": html() for n in range(1, PAGES)}}) as site:
        await crawler.crawl(spec(rate=10, per_host=2, robots=False), site.url("/"))
    assert len(crawler.pages()) == PAGES
    # Two with each call. An answer that comes 0.07 s after its request costs another one.
    assert calls(crawler.home, "lease") <= PAGES * 3 // 4


async def test_pages_that_take_long_to_read_do_not_keep_the_slot_of_their_host(crawler: Field) -> None:
    asked: list[str] = []
    all_asked = asyncio.Event()

    @spider("http://127.0.0.1/")
    async def slow(page: Page) -> object:
        asked.append(page.url)
        if len(asked) == PAGES // 4:
            all_asked.set()
        await all_asked.wait()
        return ()

    crawler.spider = slow
    async with serving({f"/{n}": html() for n in range(PAGES // 4)}) as site:
        urls = [site.url(f"/{n}") for n in range(PAGES // 4)]
        crawler.add("job", spec(rate=20, per_host=1, robots=False), *urls)
        async with asyncio.timeout(60):
            await crawler.run("job")
    assert len(asked) == PAGES // 4


async def test_a_waiting_frontier_notices_what_another_process_offers(tmp_path: Path) -> None:
    """It only looks whether the file changed, as long as it did not."""
    path = tmp_path / "frontier.db"
    here, elsewhere = SqliteFrontier(path), SqliteFrontier(path)
    with closing(here), closing(elsewhere):
        await here.open_job("job", Terms())
        waiting = asyncio.create_task(here.wait(60.0))
        await asyncio.sleep(0)
        await elsewhere.offer(
            Caller("other").next(), [Offer("job", [target("http://host.example/", Params(), "host")])]
        )
        async with asyncio.timeout(30):
            await waiting
        assert await here.next_ready_in() == 0.0
