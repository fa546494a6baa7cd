"""Several processes, kills and outages: every item once in the store, the hosts' rates kept, and every process ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.model import JobSpec
from shoal.practice.process import Running
from shoal.scrapy.crawl_job import existing_or_new
from shoal.store.jobs import create_job
from shoal.store.store import Store
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import PLAIN_SCRAPY, Spider, eventually, run_spiders, stored_items

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

DELAY_S = 0.025
SPEC = JobSpec("map", scrapy="map")


def test_three_processes_lose_and_repeat_nothing_when_one_is_killed_and_redis_restarts(
    large_shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    settings: dict[str, Any] = {"REDIS_URL": redis.url, "SHOAL_JOB": "three", "DOWNLOAD_DELAY": DELAY_S}
    spiders = [Spider("rules", large_shop, tmp_path, output=f"{n}.jsonl", **settings) for n in range(3)]
    eventually(lambda: all("works on job three" in spider.log for spider in spiders))
    eventually(lambda: len(large_shop.log()) > 40)
    spiders[0].kill()
    eventually(lambda: len(large_shop.log()) > 80)
    redis.kill()
    redis.start()
    for spider in spiders[1:]:
        spider.wait()
    log = large_shop.log()
    expected = run_spiders(["rules"], large_shop, tmp_path, **PLAIN_SCRAPY)["rules"]
    assert stored_items(tmp_path, "three") == expected
    assert {json.dumps(item, sort_keys=True) for spider in spiders for item in spider.items()} == set(expected)
    # On a busy machine starts come late and close together, but never sooner than all of them may.
    starts = sorted(visit.t_start for visit in log)
    assert starts[-1] - starts[0] >= (len(starts) - 1) * DELAY_S * 0.95


def test_a_killed_crawl_of_a_home_continues_where_it_was(large_shop: Running, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"JOBDIR": tmp_path / "home", "DOWNLOAD_DELAY": 0.01}
    spider = Spider("login", large_shop, tmp_path, **settings)
    eventually(lambda: len(large_shop.log()) > 8)
    spider.kill()
    visits = len(large_shop.log())
    again = Spider("login", large_shop, tmp_path, **settings)
    again.wait()
    # Cookies are kept too: nothing is fetched as a stranger.
    items = stored_items(tmp_path, "login")
    assert len(items) == 21 and set(items.values()) == {1}
    assert all(json.loads(item)["logged_in"] for item in items)
    # Two of the login, a redirect and 20 pages: each at most once more.
    assert len(large_shop.log()) - visits <= 23


def test_a_callback_that_blocks_longer_than_a_lease_makes_no_duplicates(
    large_shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    settings: dict[str, Any] = {"REDIS_URL": redis.url, "SHOAL_JOB": "blocks", "DOWNLOAD_DELAY": 0.02}
    spiders = [Spider("blocking", large_shop, tmp_path, output=f"{n}.jsonl", lease_s=3, **settings) for n in range(2)]
    for spider in spiders:
        spider.wait()
    assert set(Counter(visit.path for visit in large_shop.log()).values()) == {1}
    assert set(stored_items(tmp_path, "blocks").values()) == {1}


class SecondToCreate(Store):
    """Another process always creates the job a moment before this one."""

    @contextmanager
    def write_plain(self) -> Iterator[Transaction]:
        create_job(Store(self._database), "shared", lambda: SPEC, [], 1.0)
        with super().write_plain() as db:
            yield db


def test_two_processes_that_create_the_same_job_at_once_work_on_one(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        second = SecondToCreate(store._database)
        assert existing_or_new(second, "shared", SPEC, fleet=False).created_at == 1.0


def test_a_redis_that_is_away_is_waited_for(large_shop: Running, tmp_path: Path, redis: RedisServer) -> None:
    redis.kill()
    spider = Spider("map", large_shop, tmp_path, REDIS_URL=redis.url)
    eventually(lambda: "waiting: Redis at" in spider.log)
    redis.start()
    assert "continues after waiting for" in spider.wait()
    assert len(stored_items(tmp_path, "map")) == 100


def test_a_redis_that_lost_everything_is_filled_from_the_store(
    large_shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    spider = Spider("rules", large_shop, tmp_path, REDIS_URL=redis.url, DOWNLOAD_DELAY=DELAY_S)
    eventually(lambda: len(large_shop.log()) > 60)
    redis.client.flushall()
    assert spider.wait().count("is filled again from the store") == 1
    expected = run_spiders(["rules"], large_shop, tmp_path, **PLAIN_SCRAPY)["rules"]
    assert stored_items(tmp_path, "rules") == expected


def test_processes_on_machines_of_their_own_find_each_other_by_the_spiders_name(
    large_shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    first = Spider("map", large_shop, tmp_path, REDIS_URL=redis.url, DOWNLOAD_DELAY=0.05)
    eventually(lambda: len(large_shop.log()) > 3)
    # The first must not be through before the other has begun.
    large_shop.control(latency_ms=5_000)
    other = tmp_path / "other"
    other.mkdir()
    second = Spider("map", large_shop, other, REDIS_URL=redis.url, DOWNLOAD_DELAY=0.05)
    eventually(lambda: "works on job" in second.log)
    large_shop.control(latency_ms=0)
    first.wait()
    second.wait()
    assert set(Counter(visit.path for visit in large_shop.log()).values()) == {1}
    assert stored_items(tmp_path, "map").total() + stored_items(other, "map").total() == 100
