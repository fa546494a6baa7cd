"""A fleet's processes in one: engines on a Redis frontier, as tests start them."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from shoal.engine.active_job import JobResources
from shoal.engine.engine import Engine
from shoal.engine.job_start import make_active_job, seed_offers, seeds_of, terms_of
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.frontier.contract import Caller
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.practice import Running, Shop
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.jobs import load_job
from shoal.store.store import Store
from shoal.store.writer import Writer
from tests.frontier.redis_server import RedisServer


async def work(
    server: RedisServer, store: Store, folder: Path, job: str, name: str, bounds: PoolLimits | None = None
) -> None:
    """As one process of a fleet would, until the job rests."""
    async with AsyncExitStack() as closing:
        frontier = await RedisFrontier.open(server.url, bounds)
        closing.push_async_callback(frontier.close)
        fetcher = Fetcher("shoal/test", AddressGuard(allow_private=True))
        closing.push_async_callback(fetcher.aclose)
        writer = Writer(store)
        closing.callback(writer.close)
        engine = Engine(frontier, writer, CrashMarker(folder / f"mark-{name}"), 16, name)
        spools = Spools(Archive.at(None, folder), "here", ALONE)
        closing.callback(spools.close)
        engine.add(await asyncio.to_thread(make_active_job, load_job(store, job), store, spools, JobResources(fetcher)))
        await engine.run()


async def submit(frontier: RedisFrontier, store: Store, job: str) -> None:
    await frontier.open_job(job, terms_of(load_job(store, job).spec, 0.0))
    caller = Caller(f"submit-{time.time()}")
    for seeds in seeds_of(store, job):
        await frontier.offer(caller.next(), seed_offers(load_job(store, job), seeds))


def truth_of(shop: Shop, site: Running) -> dict[str, int]:
    return {site.url(path, host): status for host, seen in shop.truth().items() for path, status in seen.pages.items()}


def pages_in(store: Store) -> dict[str, int]:
    with store.read() as db:
        return {row[0]: row[1] for row in db.exec_driver_sql("SELECT url, status FROM pages")}
