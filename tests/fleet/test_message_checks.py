"""Slices lost and doubled, tends doubled, killed and missing: the truth is elsewhere, and the crawl does not notice."""

from __future__ import annotations

import time
from pathlib import Path

import redis
from celery import Celery

from shoal.model import Lane
from shoal.practice import Shop, running
from tests.fleet.running import LOOK_EVERY_S, Role, Running
from tests.fleet.shopping import PAGES, Shopping, shopping
from tests.frontier.redis_server import RedisServer

SHORT = {"SHOAL_SLICE_S": "1"}
PROCESSES = 3
EARLY, LATE = range(8, 16), range(30, 38)
MOST_CLIENTS = 10
LOST = 5
STEAL_WITHIN_S = 60
STAYS_AT_REST_S = 2.5
TRIPLED = 3
FEW_LINES = 10


def publish(fleet: Running, n: int) -> None:
    with Celery(broker=fleet.broker_url) as app:
        for _ in range(n):
            app.send_task("shoal.slice", args=["batch"], queue="batch")


def waiting(fleet: Running) -> int:
    """Slices that nobody has taken."""
    with redis.from_url(fleet.broker_url) as broker:
        return sum(broker.llen(lane) for lane in Lane)


def steal(fleet: Running, n: int) -> int:
    """Takes slices as they are published, as far as there are some."""
    with redis.from_url(fleet.broker_url) as broker:
        return sum(broker.brpop(list(Lane), timeout=STEAL_WITHIN_S) is not None for _ in range(n))


def test_lost_slices_are_published_again(tmp_path: Path) -> None:
    with shopping(tmp_path, env=SHORT) as shop:
        (worker,) = shop.fleet.workers
        with worker.main_standing_still():
            assert steal(shop.fleet, LOST) == LOST
        shop.assert_unharmed()


def test_slices_published_three_times_disappear(tmp_path: Path) -> None:
    with shopping(tmp_path, env=SHORT) as shop:
        for pages in (1, PAGES // 3, PAGES // 2):
            shop.fleet.until_pages(shop.job, pages)
            publish(shop.fleet, TRIPLED * shop.fleet.processes)
        shop.fleet.until(lambda: waiting(shop.fleet) <= 1)
        assert len(shop.fleet.children()) == shop.fleet.processes
        shop.assert_unharmed()
        shop.fleet.until(lambda: not any(entry.lane for entry in shop.fleet.roster()))
        at_rest = time.monotonic()
        while time.monotonic() < at_rest + STAYS_AT_REST_S:
            assert waiting(shop.fleet) == 0 and not any(entry.lane for entry in shop.fleet.roster())
            time.sleep(LOOK_EVERY_S)


def test_a_slice_that_a_full_redis_cannot_acknowledge_does_not_end_the_worker(tmp_path: Path) -> None:
    with Running(tmp_path, processes=1) as fleet, running(Shop(hosts=1, products=4, troubled=False)) as site:
        (worker,) = fleet.workers
        fleet.until(lambda: "ready:" in worker.said)
        worker.stand_still()
        publish(fleet, 1)
        fleet.redis.client.config_set("maxmemory", 1)
        worker.go_on()
        fleet.until(lambda: "maxmemory" in worker.said)
        fleet.redis.client.config_set("maxmemory", 0)
        fleet.until_ended(fleet.submit(site.url(), "--rate", "50"))
        assert len(worker.said.splitlines()) < FEW_LINES, worker.said


def test_workers_continue_without_tend_and_the_next_tend_finishes_the_job(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        shop.fleet.until_pages(shop.job, 5)
        tend_that_acts(shop).kill()
        shop.fleet.until_pages(shop.job, PAGES)
        shop.fleet.until(
            lambda: shop.fleet.standing(shop.job).limiting == "the fleet has no tend process. Start one: shoal tend"
        )
        shop.fleet.start_tend()
        shop.fleet.until_ended(shop.job)
        shop.assert_unharmed()
        assert times_said(shop, seeded(shop)) == times_said(shop, f"job {shop.job} is done") == 1


def test_a_killed_tend_is_replaced_by_the_second_one(tmp_path: Path) -> None:
    with shopping(tmp_path, tends=2) as shop:
        tend_that_acts(shop).kill()
        shop.assert_unharmed()
        assert times_said(shop, seeded(shop)) == times_said(shop, f"job {shop.job} is done") == 1


def tend_that_acts(shop: Shopping) -> Role:
    said = seeded(shop)
    (acting,) = shop.fleet.until(lambda: [tend for tend in shop.fleet.tends if said in tend.said])
    return acting


def seeded(shop: Shopping) -> str:
    return f"job {shop.job}: the start URLs are queued"


def times_said(shop: Shopping, words: str) -> int:
    return sum(tend.said.count(words) for tend in shop.fleet.tends)


def test_connections_stay_few_however_many_slices_there_are(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    shop, env = Shop(hosts=1, products=80, troubled=False), {"SHOAL_SLICE_S": "1"}
    with RedisServer(tmp_path / "broker") as broker, running(shop) as site:
        env["SHOAL_BROKER_URL"] = broker.url
        with Running(tmp_path, processes=PROCESSES, env=env) as fleet:
            # The worker's own connections are counted from the beginning.
            fleet.until(lambda: "ready:" in fleet.workers[0].said)
            fleet.submit(site.url(), "--rate", "4")
            early, late = clients(fleet, broker, EARLY), clients(fleet, broker, LATE)
    # A pool opens another one now and then, when two calls meet. One that each slice left would be many more.
    assert min(late) - max(early) < (LATE.start - EARLY.stop) / 2, (early, late)
    # The children, their worker and tend.
    assert max(early + late) <= MOST_CLIENTS * (PROCESSES + 2)


def clients(fleet: Running, broker: RedisServer, slices: range) -> list[int]:
    """Of both servers, while the fleet's slices are these by their number."""
    seen = []

    def look() -> bool:
        published = int(broker.client.info("commandstats").get("cmdstat_lpush", {"calls": 0})["calls"])
        if published >= slices.start:
            seen.append(sum(server.client.info("clients")["connected_clients"] for server in (fleet.redis, broker)))
        return published >= slices.stop

    fleet.until(look)
    return seen
