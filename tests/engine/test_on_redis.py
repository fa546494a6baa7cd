"""The same engine on the Redis frontier: several of them share a job, and hosts do not notice how many they are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.frontier.contract import Caller
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.model import Offer, ScopeKind
from shoal.practice import Shop, running
from shoal.store.crawl.overflow import overflow_offers
from shoal.store.results.listings import list_dead
from shoal.urls import Params, target
from tests.engine.conftest import Field, spec
from tests.engine.on_redis import crawl_together, pages_in, submit, truth_of, work
from tests.frontier.redis_server import RedisServer
from tests.politeness import assert_polite, fetched_more_than_once


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    with RedisServer(tmp_path / "redis") as server:
        yield server


async def test_three_engines_share_a_job_and_keep_to_its_rate(
    crawler: Field, redis_server: RedisServer, tmp_path: Path
) -> None:
    shop = Shop(hosts=2, categories=3, products=30, troubled=False)
    store = crawler.home.store
    with running(shop, log=tmp_path / "log", latency_ms=10) as site:
        crawler.add("job", spec(rate=40, per_host=3, archive=False), *(site.url("/", a) for a in shop.addresses))
        figures = await crawl_together(redis_server, store, tmp_path, "job", engines=3)
        log = site.log()
    assert pages_in(store) == truth_of(shop, site)
    ended = figures.pages + figures.redirects + figures.dead + sum(figures.dropped.values())
    assert (figures.found, figures.queued, figures.leased) == (ended, 0, 0)
    assert_polite(log, rate=40, per_host=3)
    assert not fetched_more_than_once([entry for entry in log if entry.path != "/robots.txt"])


async def test_links_beyond_the_cap_wait_in_the_store_and_come_back(
    crawler: Field, redis_server: RedisServer, tmp_path: Path
) -> None:
    shop = Shop(hosts=1, categories=4, products=160, troubled=False)
    store = crawler.home.store
    with running(shop, log=tmp_path / "log") as site:
        crawler.add("job", spec(archive=False), site.url())
        frontier = await RedisFrontier.open(redis_server.url)
        await submit(frontier, store, "job")
        few = PoolLimits(queued_per_job=30)
        async with asyncio.timeout(120):
            await work(redis_server, store, tmp_path, "job", "worker", few)
        most = await frontier.figures("job")
        await frontier.close()
        log = site.log()
    assert pages_in(store) == truth_of(shop, site)
    assert (most.queued, most.leased) == (0, 0)
    assert overflow_offers(store, "job", 10) == []
    assert not fetched_more_than_once([entry for entry in log if entry.path != "/robots.txt"])


async def test_a_record_that_cannot_be_read_is_a_dead_letter_and_the_crawl_goes_on(
    crawler: Field, redis_server: RedisServer, tmp_path: Path
) -> None:
    store = crawler.home.store
    with running(Shop(hosts=1, products=4, troubled=False), log=tmp_path / "log") as site:
        crawler.add("job", spec(archive=False, scope=ScopeKind.LISTED), site.url(), site.url("/robots.txt"))
        frontier = await RedisFrontier.open(redis_server.url)
        await submit(frontier, store, "job")
        caller = Caller("another")
        await frontier.offer(caller.next(), [Offer("job", [target(site.url("/pages/about.html"), Params(), "host")])])
        (queue,) = redis_server.client.keys(f"{TAG}:q:*")
        redis_server.client.lset(queue, -1, b"written by someone else")
        async with asyncio.timeout(120):
            await work(redis_server, store, tmp_path, "job", "worker")
        figures = await frontier.figures("job")
        await frontier.close()
    assert (figures.queued, figures.leased, figures.pages, figures.dead) == (0, 0, 2, 1)
    assert [letter["reason"] for letter in list_dead(store, "job", {})] == ["malformed"]
