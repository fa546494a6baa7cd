"""Redis killed, wiped, paused and full under a crawl: the fleet goes on by itself, and nothing that is stored is lost
or fetched again."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoal.fleet.roster import ALIVE_S
from shoal.frontier.redis.shard import TAG
from shoal.model import ENDED
from shoal.practice import Shop, running
from tests.fleet import oracles
from tests.fleet.proxy import Proxy
from tests.fleet.running import Running
from tests.fleet.shopping import IN_FLIGHT, PAGES, Shopping, shopping

THIRD = PAGES // 3
LEAVES_WITHIN_S = 40.0
"""Twenty to end and to save what it holds, a few to say goodbye, and as many again on a busy machine."""
LIMIT = 40
LOST_S = 1.0
"""What a Redis that syncs every second may lose."""


def wipe(fleet: Running) -> None:
    fleet.redis.client.flushall()


def start_empty(fleet: Running) -> None:
    fleet.redis.kill()
    shutil.rmtree(fleet.folder / "redis")
    (fleet.folder / "redis").mkdir()
    fleet.redis.start()


def assert_goes_on(shop: Shopping) -> None:
    """Beyond what may have been leased before; or to its end, if the rest was less."""
    asked = len(shop.asked())
    shop.fleet.until(lambda: len(shop.asked()) > asked + 2 * IN_FLIGHT or shop.fleet.standing(shop.job).state in ENDED)


def test_workers_reconnect_to_a_killed_redis_by_themselves(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        shop.fleet.until_pages(shop.job, THIRD)
        stored, clocks, killed_at = shop.stored(), shop.clocks(), time.time()
        shop.fleet.redis.kill()
        shop.fleet.redis.start()
        after = shop.clocks()
        assert all(after[host] > at - LOST_S for host, at in clocks.items())
        assert_goes_on(shop)
        shop.assert_unharmed(repeats=IN_FLIGHT)
        shop.assert_nothing_again(stored, killed_at)


def test_a_lost_frontier_is_rebuilt_from_the_store(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        for pages, lose in ((PAGES // 4, wipe), (PAGES // 2, start_empty)):
            shop.fleet.until_pages(shop.job, pages)
            stored, lost_at = shop.stored(), time.time()
            lose(shop.fleet)
            assert_goes_on(shop)
            shop.assert_nothing_again(stored, lost_at)
        shop.assert_unharmed(repeats=2 * IN_FLIGHT)


def test_damaged_records_are_rebuilt_from_the_store(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        shop.fleet.until_pages(shop.job, THIRD)
        client = shop.fleet.redis.client
        # A set where a list of requests should be: whoever pops from it fails, in the middle of a lease.
        for key in client.scan_iter(f"{TAG}:q:*"):
            client.delete(key)
            client.sadd(key, "nonsense")
        shop.fleet.until(lambda: "frontier_broken" in shop.fleet.tends[0].said)
        assert_goes_on(shop)
        shop.assert_unharmed(repeats=2 * IN_FLIGHT)
        assert client.get(f"{TAG}:broken") is None


def test_a_redis_behind_the_store_leases_nothing_that_is_stored(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        shop.fleet.until_pages(shop.job, PAGES // 4)
        with shop.fleet.redis.copied() as put_back:
            shop.fleet.until_pages(shop.job, PAGES // 2)
            stored, lost_at = shop.stored(), time.time()
            put_back()
        assert len(stored) >= PAGES // 2
        assert_goes_on(shop)
        shop.assert_nothing_again(stored, lost_at)
        shop.assert_unharmed(repeats=IN_FLIGHT)
        assert any("frontier_behind" in tend.said for tend in shop.fleet.tends)


def test_a_page_limit_is_exact_when_redis_falls_behind_the_store(tmp_path: Path) -> None:
    site = running(Shop(hosts=2, categories=2, products=40, troubled=False), log=tmp_path / "site.log")
    with site as shop, Running(tmp_path, processes=1) as fleet:
        job = fleet.submit(shop.url(), "--rate", "20", "--max-pages", str(LIMIT))
        fleet.until_pages(job, LIMIT // 4)
        with fleet.redis.copied() as put_back:
            fleet.until_pages(job, LIMIT // 2)
            put_back()
        figures = fleet.until_ended(job)
        assert (figures["pages"], figures["state"]) == (LIMIT, "limited")
        oracles.assert_balanced(figures)
        assert len(fleet("pages", job, "--json").lines) == LIMIT


@pytest.mark.parametrize("stands_still", [False, True], ids=["killed", "standing still"])
def test_a_worker_stops_soon_while_redis_is_away_and_the_next_gets_its_requests(
    stands_still: bool, tmp_path: Path
) -> None:
    # A lease that were only to expire would come back long after the test.
    with shopping(tmp_path, env={"SHOAL_LEASE_S": "300"}) as shop:
        redis, (worker,) = shop.fleet.redis, shop.fleet.workers
        shop.until_asked(IN_FLIGHT)
        redis.stand_still() if stands_still else redis.kill()
        worker.terminate()
        assert worker.ended(LEAVES_WITHIN_S) == 0, worker.said
        assert "Traceback" not in worker.said
        redis.go_on() if stands_still else redis.start()
        shop.fleet.start_worker()
        assert_goes_on(shop)
        shop.assert_unharmed(repeats=IN_FLIGHT)


@pytest.mark.parametrize(
    ("pause_s", "lease_s", "repeats"), [(14.0, 40, 0), (6.0, 3, IN_FLIGHT)], ids=["leases last", "leases expire"]
)
def test_a_frozen_redis_is_waited_for(pause_s: float, lease_s: int, repeats: int, tmp_path: Path) -> None:
    with shopping(tmp_path, env={"SHOAL_LEASE_S": str(lease_s)}) as shop:
        shop.fleet.until_pages(shop.job, THIRD)
        shop.fleet.redis.stand_still()
        time.sleep(pause_s)
        shop.fleet.redis.go_on()
        assert_goes_on(shop)
        shop.assert_unharmed(repeats)


def test_a_redis_at_maxmemory_slows_the_crawl_and_is_reported(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        redis = shop.fleet.redis.client
        shop.fleet.until_pages(shop.job, THIRD)
        redis.config_set("maxmemory", redis.info("memory")["used_memory"] // 2)
        # By then nobody is on the roster any more, which a full Redis does not take.
        time.sleep(ALIVE_S + 1)
        figures, asked = shop.fleet.figures(shop.job), len(shop.asked())
        assert figures["state"] == "waiting"
        assert "at its maxmemory: raise it" in figures["limiting"]
        assert "maxmemory" in shop.fleet.workers[0].said
        oracles.assert_balanced(figures)
        assert (figures["dropped"], figures["dead"], figures["queued"] > 0) == ({}, 0, True)
        time.sleep(1)
        assert len(shop.asked()) == asked
        redis.config_set("maxmemory", 0)
        assert_goes_on(shop)
        shop.assert_unharmed(repeats=0)


def test_requests_of_a_disconnected_worker_are_taken_over_and_its_late_results_are_ignored(
    tmp_path: Path,
) -> None:
    with shopping(tmp_path, workers=1, processes=1) as shop, way_to_redis(shop.fleet) as way:
        shop.fleet.until_pages(shop.job, THIRD)
        way.cut()
        figures = shop.fleet.until_ended(shop.job)
        way.mend()
        shop.fleet.until_manned(children=2)
        shop.fleet.until(lambda: not any(entry.in_flight for entry in shop.fleet.roster()))
        # The late answers are in the archive all the same.
        assert {**shop.fleet.figures(shop.job), "archive_bytes": 0} == {**figures, "archive_bytes": 0}
        shop.assert_unharmed(repeats=IN_FLIGHT)


def test_a_slow_redis_connection_keeps_the_rate_and_lost_answers_are_requested_again(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with shopping(tmp_path, workers=1, processes=1) as shop, way_to_redis(shop.fleet) as way:
        way.delay_s = lambda _: chance.uniform(0.05, 0.2)
        shop.fleet.until_pages(shop.job, THIRD)
        for _ in range(5):
            way.break_answers(6)
            shop.fleet.until(lambda: not way.breaks_left)
        shop.assert_unharmed(repeats=0)


@contextmanager
def way_to_redis(fleet: Running) -> Iterator[Proxy]:
    """Between one more worker and Redis; the fleet's other goes straight."""
    with Proxy(fleet.redis.port) as way:
        fleet.start_worker(SHOAL_REDIS_URL=f"redis://127.0.0.1:{way.port}/0")
        fleet.until_manned(children=2)
        yield way
        fleet.workers[-1].kill()
