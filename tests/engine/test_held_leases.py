"""Two processes of a fleet at one host: the rate holds for both together, though one takes long to take a job up."""

from __future__ import annotations

import asyncio
import time

from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.job_start import terms_of
from shoal.engine.make_engine import make_engine
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.frontier.contract import ALL_LANES, Caller
from shoal.model import JobSpec, Offer
from shoal.practice import Answer, Visit
from shoal.store.async_store import AsyncStore
from shoal.urls import Params, target
from tests.engine.conftest import Field, html, serving, spec

RATE = 8
PAGES = 24
SLOW_S = 0.7


class Source:
    """Jobs that take so long to be taken up."""

    def __init__(self, wanted: JobSpec, seed: str, takes_s: float) -> None:
        self._wanted, self._seed, self._takes_s = wanted, seed, takes_s
        self.fetcher = Fetcher("shoal/test", AddressGuard(allow_private=True))

    async def load(self, job: str) -> ActiveJob:
        await asyncio.sleep(self._takes_s)
        return ActiveJob(job, self._wanted, 0.0, [self._seed], [], JobResources(self.fetcher))

    async def reload(self, active_job: ActiveJob) -> None: ...

    async def reload_learnt(self, active_job: ActiveJob) -> None: ...

    async def unload(self, active_job: ActiveJob) -> None: ...


async def test_what_was_due_while_a_job_was_taken_up_comes_on_top_of_nothing(crawler: Field) -> None:
    starts: list[float] = []
    all_asked = asyncio.Event()

    def page(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        if len(starts) == PAGES:
            all_asked.set()
        return html()

    home, wanted, async_store = crawler.home, spec(rate=RATE, robots=False), AsyncStore(crawler.home.store)
    async with serving({f"/{n}": page for n in range(PAGES)}) as site:
        urls = [site.url(f"/{n}") for n in range(PAGES)]
        crawler.add("job", wanted, *urls)
        await home.frontier.open_job("job", terms_of(wanted, 0.0))
        targets = [target(url, Params(), "host") for url in urls]
        await home.frontier.offer(Caller("seeds").next(), [Offer("job", targets)])
        sources = [Source(wanted, urls[0], takes_s) for takes_s in (0.0, SLOW_S)]
        engines = [
            make_engine(home.frontier, async_store, home.crash_marker_of("tests"), 16, f"worker-{n}", each)
            for n, each in enumerate(sources)
        ]
        # The slow one first, so that it has a share of the plan.
        active_job = [asyncio.create_task(engine.serve()) for engine in reversed(engines)]
        for engine in reversed(engines):
            engine.leasing.permit(ALL_LANES)
        async with asyncio.timeout(120):
            await all_asked.wait()
        for engine in engines:
            engine.stop()
        await asyncio.gather(*active_job)
        for source in sources:
            await source.fetcher.aclose()
    async_store.close()
    starts.sort()
    within_a_second = max(sum(first <= start < first + 1 for start in starts) for first in starts)
    assert within_a_second <= RATE + 1
