"""A crawl whose store another process has locked for long waits, says so, and goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.model import Input, JobSpec, JobState, Politeness
from shoal.store.jobs import create_job
from shoal.urls import Exclusions, Params, target
from tests.fetch.site import Asked, Site, answer, serving, until

HTML = ("Content-Type: text/html",)


async def test_a_crawl_waits_for_a_locked_store_and_loses_nothing(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        home.check()
        other = sqlite3.connect(tmp_path / "home" / "shoal.db", isolation_level=None)
        async with serving(Site()) as site:

            async def lock_and_answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
                other.execute("BEGIN IMMEDIATE")
                await answer(b'<a href="/2">', headers=HTML)(asked, writer)

            site.routes["/1"] = lock_and_answer
            url = f"{site.url}/1"
            spec = JobSpec("busy", politeness=Politeness(rate=0, robots=False), allow_private=True)
            create_job(home.store, "job", lambda: spec, [Input(1, url, target(url, Params(), "host"))], time.time())
            crawl = Crawl(home, "job", 4, Exclusions())
            running = asyncio.create_task(crawl.run())
            await until(lambda: crawl.engine.waiting_for is not None)
            assert "shoal.db" in (crawl.engine.waiting_for or "")
            other.execute("ROLLBACK")
            report = await running
        other.close()
    assert (report.overview.state, report.overview.stored.pages) == (JobState.DONE, 2)
