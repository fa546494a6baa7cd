"""A crawl whose browser is lost says so and goes on later. A page whose process ends is loaded again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.browser.process_memory import tree_memory
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.embedded.job_lock import LockHolder
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.exchange import FailureKind
from shoal.model import Input, JobSpec, JobState, Politeness, Render
from shoal.store.jobs import create_job, load_job
from shoal.store.results.listings import list_dead
from shoal.urls import Exclusions, Params, target
from tests.browser.rendering import AGENT, LONG_S, browser_of, failed, let_others_in
from tests.fetch.site import Asked, Site, answer, hang, serving, until

ENDING = b"<p>hello<script>fetch('/end')</script>"
POLITENESS = Politeness(rate=0, per_host=1, robots=False)


def crawl_in(home: Home, browser: str, *urls: str) -> Crawl:
    spec = JobSpec("shop", politeness=POLITENESS, allow_private=True, render=Render.ALWAYS)
    seeds = [Input(number, url, target(url, Params(), "host")) for number, url in enumerate(urls, 1)]
    create_job(home.store, "job", lambda: spec, seeds, time.time())
    return Crawl(home, "job", 4, Exclusions(), browser=browser)


async def test_a_crawl_shows_why_it_waits_for_its_browser_and_is_resumed(program: str, tmp_path: Path) -> None:
    installed = tmp_path / "browser"
    installed.symlink_to(program)
    let_others_in(tmp_path)

    async def end_browser(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if installed.exists():
            installed.unlink()
            browser = browser_of(os.getpid())
            assert browser is not None
            os.killpg(browser, signal.SIGKILL)
            await hang(asked, writer)

    with Home(tmp_path / "home") as home:
        async with serving(Site(otherwise=end_browser)) as site:
            crawl = crawl_in(home, str(installed), site.url)
            running = asyncio.create_task(crawl.run())
            await until(lambda: crawl.note is not None, LONG_S)
            assert (crawl.note or "").startswith("the browser does not start again, and is tried again in ")
            await until(lambda: (home.lock_of("job").holder() or LockHolder()).reading is not None, LONG_S)
            shown = await home.job_status(load_job(home.store, "job"))
            assert "is not a program: install it" in (shown.limiting or "")
            crawl.engine.stop()
            report = await running
    assert report.overview.state is JobState.INTERRUPTED and report.overview.frontier.queued == 1


async def end_its_process(request: Asked, writer: asyncio.StreamWriter) -> None:
    browser = browser_of(os.getpid())
    assert browser is not None
    for pid, use in tree_memory(browser).items():
        if use.is_renderer:
            os.kill(pid, signal.SIGKILL)
    await hang(request, writer)


async def test_a_page_whose_process_ends_is_loaded_again(program: str, tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    async def page(request: Asked, writer: asyncio.StreamWriter) -> None:
        asked[request.path] += 1
        ends = request.path == "/never" or asked[request.path] == 1
        await answer(ENDING if ends else b"<p>hello", headers=("Content-Type: text/html",))(request, writer)

    with Home(tmp_path / "home") as home:
        async with serving(Site(routes={"/end": end_its_process}, otherwise=page)) as site:
            report = await crawl_in(home, program, f"{site.url}/once", f"{site.url}/never").run()
        (dead,) = list_dead(home.store, "job", {})
    assert asked == {"/once": 2, "/never": 3}
    assert report.overview.stored.pages == 1 and (dead["url"], dead["reason"]) == (f"{site.url}/never", "render")


async def test_a_page_that_was_clicked_is_not_loaded_again(program: str) -> None:
    fetcher = BrowserFetcher(BrowserPool(AGENT, program, at_once=1), AGENT, AddressGuard(allow_private=True))
    html = answer(ENDING, headers=("Content-Type: text/html",))
    async with serving(Site(routes={"/end": end_its_process}, otherwise=html)) as site:
        for step, wants_repeat in (({"wait": "nothing"}, True), ({"click": "p"}, False)):
            failure = await failed(fetcher, f"{site.url}/", [step, {"wait_time": 60}])
            assert (failure.kind, failure.wants_repeat) == (FailureKind.RENDER, wants_repeat)
        await fetcher.pool.aclose()
    await fetcher.aclose()
