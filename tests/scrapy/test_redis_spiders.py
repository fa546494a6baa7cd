"""What users of scrapy-redis know: start URLs in Redis, items to a list, by changing the import only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.practice.process import Running
from shoal.scrapy.redis_start_urls import StartUrls
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import run_spiders

SETTINGS = {
    "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
    "ITEM_PIPELINES": {"shoal.scrapy.RedisPipeline": 300, "shoal.scrapy.Pipeline": 900},
}


def test_spiders_read_their_start_urls_from_redis_and_push_their_items(
    shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    page, about, login = shop.url("/contact.html"), shop.url("/about.html"), shop.url("/account/login.html")
    entries = [page, json.dumps({"url": about, "meta": {"note": 7}}), "{no json", json.dumps({"note": "no url"}), page]
    entries += [json.dumps({"url": login, "method": "post", "user": "bob"})]
    redis.client.rpush("queue:start_urls", *entries)
    redis.client.zadd("urls of queue_rules", {shop.url("/"): 2})
    found = run_spiders(["queue", "queue_rules"], shop, tmp_path, REDIS_URL=redis.url, **SETTINGS)
    # Unlike links, start URLs are fetched as often as they are pushed. The login is refused with 403.
    assert sorted((item["url"], item["note"], n) for item, n in _items(found["queue"])) == [
        (about, 7, 1),
        (page, None, 2),
    ]
    pushed = [json.loads(text) for text in redis.client.lrange("queue:items", 0, -1)]
    assert sorted(item["url"] for item in pushed) == sorted([page, page, about])
    assert len(found["queue_rules"]) == redis.client.llen("queue_rules:items") > 5
    assert [visit.method for visit in shop.log() if visit.path.endswith("login.html")][-1] == "POST"
    assert redis.client.keys("*taken*") == []


def test_a_spider_makes_requests_of_what_it_finds_and_keeps_its_settings(
    shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    client = redis.client.from_url(redis.url.removesuffix("/0") + "/3")
    client.sadd("ids:todo", *range(9), "none")
    names = {"REDIS_ITEMS_KEY": "things of %(spider)s", "REDIS_ITEMS_SERIALIZER": "builtins.repr"}
    port = int(redis.url.rpartition(":")[2].partition("/")[0])
    given = {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": port, "REDIS_PARAMS": {"db": 3}, **names}
    assert run_spiders(["ids"], shop, tmp_path, **SETTINGS, **given)["ids"].total() == 9
    assert sorted(client.lrange("things of ids", 0, -1)) == [b"{'id': '%d'}" % n for n in range(9)]
    client.close()


def _items(found: dict[str, int]) -> list[tuple[dict[str, object], int]]:
    return [(json.loads(text), n) for text, n in found.items()]


@pytest.mark.parametrize("kind", ["list", "set", "zset"])
def test_start_urls_of_a_killed_process_return(redis: RedisServer, kind: str) -> None:
    add = {"list": redis.client.rpush, "set": redis.client.sadd}.get(kind, lambda key, *urls: _add(redis, key, urls))
    add("key", "a", "b", "c")
    killed, other = StartUrls(redis.client, "key"), StartUrls(redis.client, "key")
    taken = killed.take(2)
    assert len(taken) == 2 and (kind != "zset" or taken == [b"c", b"b"])
    (left,) = other.take(5)
    other.keep()
    assert other.take(5) == []
    # Its time is up.
    redis.client.delete(*redis.client.keys("key:taken:*:alive"))
    assert sorted(other.take(5)) == sorted(taken)
    assert {left, *taken} == {b"a", b"b", b"c"}
    other.keep()
    assert redis.client.keys("key*") == []


def _add(redis: RedisServer, key: str, urls: tuple[str, ...]) -> None:
    redis.client.zadd(key, {url: place for place, url in enumerate(urls)})


def test_a_queue_that_persists_filters_what_an_earlier_run_has_seen(
    shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    settings = {"REDIS_URL": redis.url, "SCHEDULER_PERSIST": True}
    first = run_spiders(["rules"], shop, tmp_path, **settings)["rules"]
    before = len(shop.log())
    assert run_spiders(["rules"], shop, tmp_path, **settings)["rules"] == {}
    assert [visit.path for visit in shop.log()[before:]] == ["/"]
    assert run_spiders(["rules"], shop, tmp_path, **settings, SCHEDULER_FLUSH_ON_START=True)["rules"] == first != {}
