"""A crawl whose browser does not start again says so, and goes on later."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.embedded.job_lock import LockHolder
from shoal.model import Input, JobSpec, JobState, Politeness, Render
from shoal.store.jobs import create_job, load_job
from shoal.urls import Exclusions, Params, target
from tests.browser.rendering import LONG_S, browser_of, let_others_in
from tests.fetch.site import Asked, Site, hang, serving, until


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
            politeness = Politeness(rate=0, robots=False)
            spec = JobSpec("shop", politeness=politeness, allow_private=True, render=Render.ALWAYS)
            seed = Input(1, site.url, target(site.url, Params(), "host"))
            create_job(home.store, "job", lambda: spec, [seed], time.time())
            crawl = Crawl(home, "job", 4, Exclusions(), browser=str(installed))
            running = asyncio.create_task(crawl.run())
            await until(lambda: crawl.note is not None, LONG_S)
            assert (crawl.note or "").startswith("the browser does not start again, and is tried again in ")
            await until(lambda: (home.lock_of("job").holder() or LockHolder()).reading is not None, LONG_S)
            shown = await home.job_status(load_job(home.store, "job"))
            assert "is not a program: install it" in (shown.limiting or "")
            crawl.engine.stop()
            report = await running
    assert report.overview.state is JobState.INTERRUPTED and report.overview.frontier.queued == 1
