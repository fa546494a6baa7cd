"""Jobs run by a real engine on a real home against the practice site, in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.home import Home
from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.engine import Engine
from shoal.engine.job_start import terms_of
from shoal.engine.make_engine import make_engine
from shoal.engine.reading.spider_callbacks import SpiderCallbacks
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.frontier.contract import Caller
from shoal.jobs.job_overview import Overview, overview
from shoal.model import Input, JobSpec, JobState, Limits, Offer, Politeness
from shoal.practice import Answer, Server, Visit
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.spider import Spider
from shoal.store.async_store import AsyncStore
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job, load_job
from shoal.store.results.listings import find_outcome, list_pages
from shoal.urls import Params, target


def spec(name: str = "test", *, rate: float = 0, per_host: int = 8, robots: bool = True, **more: Any) -> JobSpec:
    limits = Limits(**more.pop("limits", {}))
    politeness = Politeness(rate=rate, per_host=per_host, robots=robots)
    return JobSpec(name=name, limits=limits, politeness=politeness, allow_private=True, **more)


@dataclass
class Field:
    """A home, and the moves a test makes in it."""

    home: Home
    resting: dict[str, str] = field(default_factory=dict)
    spider: Spider | None = None
    bounds: CallbackLimits | None = None
    reading_s: float = 10.0
    is_alone: bool = False
    ended: int = 0
    """The requests that ended in the last run, each as often as it was leased."""

    def add(self, job: str, wanted: JobSpec, *seeds: str, fleet: bool = False) -> None:
        params = Params(frozenset(wanted.keep_params), frozenset(wanted.drop_params))
        inputs = [Input(line, url, target(url, params, wanted.politeness.group)) for line, url in enumerate(seeds, 1)]
        create_job(self.home.store, job, lambda: wanted, inputs, time.time(), fleet=fleet)

    async def run(self, *jobs: str, for_s: float | None = None, until: asyncio.Event | None = None) -> None:
        """Until all rest, or for so long, or until then; stopped gracefully."""
        async_store = AsyncStore(self.home.store)
        engine = make_engine(
            self.home.frontier,
            async_store,
            self.home.crash_marker_of("tests"),
            64,
            f"test-{time.time()}",
            reading_s=self.reading_s,
        )
        engine.leasing.is_alone = self.is_alone
        fetcher = Fetcher("shoal/test", AddressGuard(allow_private=True))
        try:
            for job in jobs:
                await self._prepare(job, engine, fetcher)
            stopping = asyncio.create_task(_stop(engine, for_s, until)) if for_s or until else None
            self.resting = await engine.run()
            if stopping:
                stopping.cancel()
        finally:
            self.ended = engine.ended
            async_store.close()
            await fetcher.aclose()

    async def _prepare(self, job: str, engine: Engine, fetcher: Fetcher) -> None:
        known = load_job(self.home.store, job)
        frontier = self.home.frontier
        await frontier.open_job(job, terms_of(known.spec, known.seconds))
        await frontier.reap(all_leases=True)
        set_state(self.home.store, job, JobState.RUNNING, time.time())
        with self.home.store.read() as db:
            seeds = [row[0] for row in db.exec_driver_sql("SELECT url FROM inputs WHERE job = ?", (job,))]
        targets = [target(url, Params(), known.spec.politeness.group) for url in seeds]
        await frontier.offer(Caller(f"seed-{job}-{time.time()}").next(), [Offer(job, targets)])
        callbacks = SpiderCallbacks(self.spider, self.bounds) if self.spider else None
        engine.add(
            ActiveJob(job, known.spec, known.created_at, seeds, known.admitted, JobResources(fetcher, callbacks))
        )

    async def crawl(self, wanted: JobSpec, *seeds: str, job: str = "job") -> Overview:
        self.add(job, wanted, *seeds)
        await self.run(job)
        return await self.figures(job)

    async def figures(self, job: str = "job") -> Overview:
        """Checked on every look: the counts balance, and the tables hold what they say."""
        seen = await overview(self.home, job)
        # Not the overview's, which agree with the store anyway.
        figures = await self.home.frontier.figures(job)
        ended = figures.pages + figures.redirects + figures.dead + sum(figures.dropped.values())
        assert figures.found == figures.queued + figures.leased + ended
        stored = seen.stored
        assert (figures.pages, figures.redirects, figures.dead) == (stored.pages, stored.redirects, stored.dead)
        assert dict(figures.dropped) == stored.dropped
        return seen

    def pages(self, job: str = "job") -> dict[str, int]:
        """URL path -> status"""
        return {"/" + row["url"].split("/", 3)[3]: row["status"] for row in list_pages(self.home.store, job, {})}

    def ending(self, url: str, job: str = "job") -> Any:
        return find_outcome(self.home.store, job, target(url, Params(), "host").fingerprint)


async def _stop(engine: Engine, for_s: float | None, until: asyncio.Event | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(for_s):
            await (until or asyncio.Event()).wait()
    engine.stop()


@pytest.fixture
def crawler(tmp_path: Path) -> Iterator[Field]:
    with Home(tmp_path / "home") as home:
        yield Field(home)


Pages = Mapping[str, Answer | Callable[[Visit], Answer]]


@asynccontextmanager
async def serving(pages: Pages, hosts: int = 1) -> AsyncIterator[Server]:
    """A site of a few given answers; a callable is asked with the visit. What is not given is 404."""

    def site(visit: Visit) -> Answer:
        answer = pages.get(visit.target) or pages.get(visit.path) or Answer(404, b"not here")
        return answer if isinstance(answer, Answer) else answer(visit)

    addresses = [f"127.0.0.{place}" for place in range(1, hosts + 1)]
    async with Server(site, addresses) as server:
        yield server


def html(*hrefs: str, head: str = "", body: str = "") -> Answer:
    links = "".join(f'<a href="{href}">{href}</a>' for href in hrefs)
    return Answer(200, f"<html><head><title>t</title>{head}</head><body>{body}{links}</body></html>".encode())
