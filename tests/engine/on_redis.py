"""A fleet's processes in one: engines on a Redis frontier, as tests start them."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from shoal.engine.job_start import seed_offers, seeds_of, terms_of
from shoal.engine.make_engine import make_engine
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.fleet.load_worker_jobs import FleetJobLoader
from shoal.frontier.contract import ALL_LANES, Caller
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.model import Figures
from shoal.practice import Running, Shop
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import load_job
from shoal.store.store import Store
from shoal.urls import Exclusions
from tests.frontier.redis_server import RedisServer


async def work(
    server: RedisServer, store: Store, folder: Path, job: str, name: str, bounds: PoolLimits | None = None
) -> None:
    """As one process of a fleet would, until the job rests."""
    async with AsyncExitStack() as closing:
        frontier = await RedisFrontier.open(server.url, bounds)
        closing.push_async_callback(frontier.close)
        async_store = AsyncStore(store)
        closing.callback(async_store.close)
        spools = Spools(Archive.at(None, folder), "here", ALONE)
        closing.callback(spools.close)
        loader = FleetJobLoader(store, async_store, spools, Exclusions(), (), True, frontier.cancel)
        closing.push_async_callback(loader.close)
        engine = make_engine(frontier, async_store, CrashMarker(folder / f"mark-{name}"), 16, name, loader)
        engine.add(await loader.load(job))
        engine.leasing.permit(ALL_LANES)
        await engine.run()


async def submit(frontier: RedisFrontier, store: Store, job: str) -> None:
    await frontier.open_job(job, terms_of(load_job(store, job).spec, 0.0))
    caller = Caller(f"submit-{time.time()}")
    for seeds in seeds_of(store, job):
        await frontier.offer(caller.next(), seed_offers(load_job(store, job), seeds))


async def crawl_together(server: RedisServer, store: Store, folder: Path, job: str, engines: int) -> Figures:
    """Submits the job, and crawls it with so many processes of a fleet to its end."""
    frontier = await RedisFrontier.open(server.url)
    await submit(frontier, store, job)
    async with asyncio.timeout(120):
        await asyncio.gather(*(work(server, store, folder, job, f"worker-{n}") for n in range(engines)))
    figures = await frontier.figures(job)
    await frontier.close()
    return figures


def truth_of(shop: Shop, site: Running) -> dict[str, int]:
    return {site.url(path, host): status for host, seen in shop.truth().items() for path, status in seen.pages.items()}


def pages_in(store: Store) -> dict[str, int]:
    with store.read() as db:
        return {row[0]: row[1] for row in db.exec_driver_sql("SELECT url, status FROM pages")}
