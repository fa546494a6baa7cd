"""A machine that never came back takes raw answers with it: their pages are fetched again, and nothing else is."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.timed_event import TimedEvent
from shoal.fleet.load_frontier import FrontierRestorer
from shoal.fleet.lost_machines import expire_lost_machines
from shoal.frontier.redis import RedisFrontier
from shoal.model import Input
from shoal.practice import Shop, running
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.lost_segments import LOST_AFTER_S
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store
from shoal.store.tables import segments
from shoal.urls import Params, target
from tests.engine.conftest import spec
from tests.engine.on_redis import pages_in, submit, truth_of, work
from tests.frontier.redis_server import RedisServer


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    with RedisServer(tmp_path / "redis") as server:
        yield server


def silence(store: Store, home: Path) -> None:
    """The machine of every open segment was last heard of too long ago, and its disk is gone."""
    shutil.rmtree(home / "spool")
    with store.write() as db:
        db.execute(update(segments).values(at=time.time() - LOST_AFTER_S - 1))


async def test_pages_of_a_lost_machine_are_fetched_again(redis_server: RedisServer, tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=2, products=12, troubled=False)
    home = tmp_path / "home"
    home.mkdir()
    with (
        running(shop, log=tmp_path / "log") as site,
        Store.open(tmp_path / "shoal.db") as store,
    ):
        seed = target(site.url(), Params(), "host")
        create_job(store, "job", spec, [Input(1, site.url(), seed)], time.time(), fleet=True)
        frontier = await RedisFrontier.open(redis_server.url)
        async_store = AsyncStore(store)
        archive = Archive.at(None, home)
        await submit(frontier, store, "job")
        await work(redis_server, store, home, "job", "there")
        truth = truth_of(shop, site)
        assert pages_in(store) == truth
        before = len(site.log())
        jobs = {"job": load_job(store, "job")}

        await expire_lost_machines(async_store, frontier, archive, {"here"}, jobs)
        assert pages_in(store) == truth
        silence(store, home)
        await expire_lost_machines(async_store, frontier, archive, set(), jobs)
        assert pages_in(store) == {}

        outages = OutageRetry(TimedEvent())
        frontier_client = FrontierClient(frontier, "tend", outages)
        await FrontierRestorer(
            frontier, frontier_client, Overflow(frontier_client, async_store, outages), async_store
        ).rebuild(load_job(store, "job"))
        await work(redis_server, store, home, "job", "elsewhere")
        figures = await frontier.figures("job")
        async_store.close()
        await frontier.close()
        assert pages_in(store) == truth
        assert (figures.pages, figures.queued, figures.leased) == (len(truth), 0, 0)
        assert len(site.log()) > before
