"""Spiders as people have them give the same items on Shoal's scheduler as on Scrapy's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy import signals
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.signalmanager import SignalManager

from shoal.practice.process import Running
from shoal.scrapy.engine_hooks import tells_of_duplicates
from shoal.store.jobs import find_job
from shoal.store.results.job_figures import stored_figures
from shoal.store.results.listings import list_dead
from shoal.store.store import Store
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import PLAIN_SCRAPY, run_spiders, stored_items

KINDS = ["plain", "rules", "map", "login"]


@pytest.fixture(scope="session")
def expected(shop: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    found = run_spiders(KINDS, shop, tmp_path_factory.mktemp("plain"), **PLAIN_SCRAPY)
    assert all(sum(items.values()) >= 20 for items in found.values())
    return dict(found)


def test_in_a_home_every_spider_gives_the_items_of_plain_scrapy(
    shop: Running, tmp_path: Path, expected: dict[str, object]
) -> None:
    assert run_spiders(KINDS, shop, tmp_path) == expected
    assert {name: stored_items(tmp_path, name) for name in KINDS} == expected


def test_in_redis_every_spider_gives_the_items_of_plain_scrapy(
    shop: Running, tmp_path: Path, redis: RedisServer, expected: dict[str, object]
) -> None:
    connected = redis.client.info("stats")["total_connections_received"]
    # Another reactor than asyncio's: the frontier's thread has a loop of its own.
    reactor = {"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"}
    settings = {**reactor, "ITEM_PIPELINES": {"shoal.scrapy.Pipeline": 900}, "DOWNLOAD_HANDLERS": _HTTP11}
    assert run_spiders(KINDS, shop, tmp_path, REDIS_URL=redis.url, **settings) == expected
    assert {name: stored_items(tmp_path, name) for name in KINDS} == expected
    # Four crawls in one process.
    assert redis.client.info("stats")["total_connections_received"] - connected <= 4 * 4


_HTTP11 = dict.fromkeys(("http", "https"), "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler")


def test_failures_are_dead_letters_with_their_errors(shop: Running, tmp_path: Path) -> None:
    items = run_spiders(["errors"], shop, tmp_path)["errors"]
    assert sum(items.values()) == 5
    store = Store.open(tmp_path / "home" / "shoal.db")
    try:
        job = find_job(store, "errors")
        dead = {letter["url"].removeprefix(shop.url("")): letter for letter in list_dead(store, job.id, {})}
        figures = stored_figures(store, job.id)
    finally:
        store.close()
    assert {path: (letter["reason"], letter["status"]) for path, letter in dead.items()} == {
        "/": ("callback", 200),
        "/about.html": ("callback", 200),
        "/nowhere.html": ("http", 404),
    }
    assert dead["/"]["detail"] == "ValueError: a bug of the spider"
    assert (
        "lambda" in dead["/about.html"]["detail"] and "is not a method of the spider" in dead["/about.html"]["detail"]
    )
    assert (figures.pages, dict(figures.dropped)) == (3, {"handled": 1})


def test_many_items_go_through_the_pipelines_as_many_at_once_as_the_project_says(shop: Running, tmp_path: Path) -> None:
    pipelines = {"shop.pipelines.Busy": 100, "shoal.scrapy.Pipeline": 900}
    items = run_spiders(["many"], shop, tmp_path, CONCURRENT_ITEMS=3, ITEM_PIPELINES=pipelines)["many"]
    found = [json.loads(item) for item in items.elements()]
    assert sorted(item["place"] for item in found) == list(range(150))
    assert max(item["busy"] for item in found) == 3
    assert stored_items(tmp_path, "many") == items
    store = Store.open(tmp_path / "home" / "shoal.db")
    try:
        assert stored_figures(store, find_job(store, "many").id).pages == 1 + 4
    finally:
        store.close()


def test_a_pipeline_that_waits_does_not_stop_downloads(shop: Running, tmp_path: Path) -> None:
    pipelines = {"shop.pipelines.Together": 100, "shoal.scrapy.Pipeline": 900}
    items = run_spiders(["map"], shop, tmp_path, CONCURRENT_REQUESTS=4, ITEM_PIPELINES=pipelines)["map"]
    assert items.total() == 30 and stored_items(tmp_path, "map") == items


def test_duplicates_are_told_of_if_somebody_listens() -> None:
    sent, offsite = SignalManager(), OffsiteMiddleware(stats=None)
    sent.connect(offsite.request_scheduled, signals.request_scheduled)
    assert not tells_of_duplicates(sent)

    def listen() -> None: ...

    sent.connect(listen, signals.request_dropped)
    assert tells_of_duplicates(sent)
    sent.disconnect(listen, signals.request_dropped)
    sent.connect(listen, signals.request_scheduled)
    assert tells_of_duplicates(sent)
