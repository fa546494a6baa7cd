"""Sinks that are a list or a stream in Redis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.store import Store
from tests.frontier.redis_server import RedisServer
from tests.sinks.feeding import BOOK, KEY, book, drain, job_with_sink, opened, save_page, status
from tests.store.make import JOB


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis(server: RedisServer) -> RedisServer:
    server.client.flushall()
    return server


def listed(redis: RedisServer) -> list[dict[str, Any]]:
    return [json.loads(entry) for entry in redis.client.lrange("books", 0, -1)]


def test_a_list_has_an_entry_for_each_item_and_for_what_went(store: Store, redis: RedisServer) -> None:
    url = f"{redis.url}?list=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"), book("b", "2"))
    drain(store, opened(url))
    save_page(store, 1, 2, book("a", "1"))
    drain(store, opened(url))
    first, *_, last = listed(redis)
    own = {"_id": "1", "_type": "Book", "_job": JOB, "_url": "https://site.test/1"}
    assert first == {**own, "title": "a", "price": "9.50", "stock": 3}
    assert last == {"_id": "2", "_type": "Book", "_job": JOB, "_deleted": True}


def test_a_full_list_makes_the_sink_wait_and_nothing_is_lost_or_doubled(store: Store, redis: RedisServer) -> None:
    url = f"{redis.url}?list=books&max_length=4"
    job_with_sink(store, url)
    save_page(store, 1, 1, *(book(f"b{n}") for n in range(10)))
    feed = SinkDelivery(store, KEY, opened(url))
    taken: list[str] = []
    for _ in range(2):
        with pytest.raises(Unavailable, match="the list books has 4 entries: take some"):
            feed.step()
        assert status(store).behind == 10
        taken += [entry["title"] for entry in listed(redis)]
        redis.client.delete("books")
    assert feed.step() is Step.DELIVERED
    feed.close()
    assert taken + [entry["title"] for entry in listed(redis)] == [f"b{n}" for n in range(10)]


def test_a_stream_is_trimmed_only_of_what_all_groups_have_acknowledged(store: Store, redis: RedisServer) -> None:
    url = f"{redis.url}?stream=books&max_length=4"
    job_with_sink(store, url)
    redis.client.xgroup_create("books", "readers", id="0", mkstream=True)
    redis.client.xgroup_create("books", "others", id="0")
    save_page(store, 1, 1, *(book(f"b{n}") for n in range(6)))
    feed = SinkDelivery(store, KEY, opened(url))
    with pytest.raises(Unavailable, match="the stream books has 4 entries"):
        feed.step()
    for group, read in (("readers", 3), ("others", 4)):
        [[_, entries]] = redis.client.xreadgroup(group, "me", {"books": ">"}, count=read)
        redis.client.xack("books", group, *[id for id, _ in entries[:3]])
    assert feed.step() is Step.DELIVERED
    feed.close()
    left = [json.loads(fields[b"item"])["title"] for _, fields in redis.client.xrange("books")]
    assert left == ["b3", "b4", "b5"]


def test_a_planned_batch_of_which_nothing_is_left_holds_nothing_up(store: Store, redis: RedisServer) -> None:
    """A process was killed while it tried refused items again, and these are gone now."""
    url = f"{redis.url}?list=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    drain(store, opened(url))
    with store.write() as db:
        db.exec_driver_sql("UPDATE sinks SET planned = cursor")
    save_page(store, 2, 1, book("b"))
    drain(store, opened(url))
    assert [entry["title"] for entry in listed(redis)] == ["a", "b"]


def test_a_redis_that_is_away_delays_and_loses_nothing(store: Store, redis: RedisServer) -> None:
    url = f"{redis.url}?list=books"
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    feed = SinkDelivery(store, KEY, opened(url))
    redis.kill()
    with pytest.raises(Unavailable, match=r"redis://127\.0\.0\.1"):
        feed.step()
    redis.start()
    while feed.step() is Step.DELIVERED:
        pass
    feed.close()
    assert [entry["title"] for entry in listed(redis)] == ["a"]


def test_what_somebody_has_to_mend_is_named(redis: RedisServer) -> None:
    redis.client.set("books", "text")
    for words, url in {
        "WRONGTYPE": f"{redis.url}?list=books",
        "name a list or a stream": f"{redis.url}?list=a&stream=b",
        "max_length=x": f"{redis.url}?list=a&max_length=x",
    }.items():
        with pytest.raises(UsageError, match=words):
            opened(url).prepare([BOOK])
