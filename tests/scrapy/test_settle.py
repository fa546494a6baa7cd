"""Leases that end soon after each other are saved and completed together."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shoal.frontier.contract import Caller
from shoal.model import JobSpec, Offer, Politeness, Target
from shoal.scrapy.crawl_job import CrawlPlan, open_crawl
from shoal.scrapy.held_request import HeldRequest
from shoal.scrapy.outage_log import OutageLog
from shoal.scrapy.settle import Settler
from shoal.settings import load
from shoal.store.results.job_figures import stored_figures

HOUR_S = 3_600.0


def test_pages_wait_to_be_saved_together_unless_something_waits_for_them(tmp_path: Path) -> None:
    async def run() -> None:
        spec = JobSpec(name="chain", scrapy="chain", politeness=Politeness(rate=0, per_host=8))
        crawl = await open_crawl(
            load({"home": str(tmp_path)}, {}, tmp_path, tmp_path / "none.toml"), CrawlPlan(spec, None, False)
        )
        caller, is_done = Caller(crawl.caller), asyncio.Event()
        settler = Settler(crawl, caller, OutageLog(), lambda: None, is_done.set, gather_s=HOUR_S)
        targets = [Target(f"http://a.example/{n}", n, "a.example") for n in range(1, 6)]
        await crawl.frontier.offer(caller.next(), [Offer(crawl.id, targets)])
        leases = await crawl.frontier.lease(caller.next(), len(targets), job=crawl.id)
        held = [HeldRequest(lease, 0.0, landed=True, received=True, status=200) for lease in leases]
        held[3].received, held[3].retry = False, leases[3].trail
        for each in held[:2]:
            settler.add([each], at_once=False)
            for _ in range(5):
                await asyncio.sleep(0)
        assert len(settler.tokens) == 2
        settler.add([held[2]], at_once=True)
        await is_done.wait()
        assert (settler.tokens, stored_figures(crawl.store, crawl.id).pages) == ([], 3)
        # Its next try can be leased only when it is completed.
        is_done.clear()
        settler.add([held[3]], at_once=False)
        await is_done.wait()
        settler.add([held[4]], at_once=False)
        await settler.join()
        assert stored_figures(crawl.store, crawl.id).pages == 4
        settler.close()
        await crawl.close()

    asyncio.run(asyncio.wait_for(run(), 60))
