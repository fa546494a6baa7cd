"""Two processes of a fleet at one host: the rate holds for both together, though one takes long to take a job up."""

from __future__ import annotations

import asyncio
import time

from shoal.engine.beginning import terms_of
from shoal.engine.engine import Engine
from shoal.engine.work import Work
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.frontier.contract import ALL_LANES, Caller
from shoal.model import JobSpec, Offer
from shoal.practice import Answer, Visit
from shoal.store.writer import Writer
from shoal.urls import Params, target
from tests.engine.conftest import Field, html, serving, spec

RATE = 8
PAGES = 24
SLOW_S = 0.7


class Source:
    """Jobs that take so long to be taken up."""

    def __init__(self, wanted: JobSpec, seed: str, takes_s: float) -> None:
        self._wanted, self._seed, self._takes_s = wanted, seed, takes_s
        self.fetcher = Fetcher("shoal/test", Guard(allow_private=True))

    async def take_up(self, job: str) -> Work:
        await asyncio.sleep(self._takes_s)
        return Work(job, self._wanted, 0.0, [self._seed], [], self.fetcher)

    async def renew(self, work: Work) -> None: ...

    async def retire(self, work: Work) -> None: ...


async def test_what_was_due_while_a_job_was_taken_up_comes_on_top_of_nothing(crawler: Field) -> None:
    starts: list[float] = []
    all_asked = asyncio.Event()

    def page(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        if len(starts) == PAGES:
            all_asked.set()
        return html()

    home, wanted, writer = crawler.home, spec(rate=RATE, robots=False), Writer(crawler.home.store)
    async with serving({f"/{n}": page for n in range(PAGES)}) as site:
        urls = [site.url(f"/{n}") for n in range(PAGES)]
        crawler.add("job", wanted, *urls)
        await home.frontier.open_job("job", terms_of(wanted, 0.0))
        targets = [target(url, Params(), "host") for url in urls]
        await home.frontier.offer(Caller("seeds").next(), [Offer("job", targets)])
        sources = [Source(wanted, urls[0], takes_s) for takes_s in (0.0, SLOW_S)]
        engines = [Engine(home.frontier, writer, home.mark, 16, f"worker-{n}", each) for n, each in enumerate(sources)]
        # The slow one first, so that it has a share of the plan.
        work = [asyncio.create_task(engine.serve()) for engine in reversed(engines)]
        for engine in reversed(engines):
            engine.permit(ALL_LANES)
        async with asyncio.timeout(20):
            await all_asked.wait()
        for engine in engines:
            engine.stop()
        await asyncio.gather(*work)
        for source in sources:
            await source.fetcher.aclose()
    writer.close()
    starts.sort()
    within_a_second = max(sum(first <= start < first + 1 for start in starts) for first in starts)
    assert within_a_second <= RATE + 1
