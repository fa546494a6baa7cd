"""The same URLs stored and sent by others: scrapy-redis's keys, and one Celery task per URL."""

from __future__ import annotations

import hashlib
import pickle
import time
from dataclasses import dataclass
from typing import Any

from celery import Celery

from benchmarks.frontier_load import URLS_PER_HOST, link
from benchmarks.frontier_redis import Server
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.redis import RedisFrontier
from shoal.model import Offer

TASKS = 10_000


@dataclass(frozen=True, slots=True)
class Rival:
    urls: int
    seen_bytes: float
    queued_bytes: float


@dataclass(frozen=True, slots=True)
class Enqueued:
    offered_s: float
    applied_s: float


def scrapy_redis(server: Server, urls: int) -> Rival:
    """A set of 40 hex digits and a sorted set of pickled requests, as its dupefilter and default queue write them."""
    empty_bytes = server.used_bytes()
    pipe = server.client.pipeline(transaction=False)
    for number in range(urls):
        pipe.sadd("rival:dupefilter", hashlib.sha1(link(number, urls // URLS_PER_HOST).url.encode()).hexdigest())
        if number % 5000 == 4999:
            pipe.execute()
    pipe.execute()
    seen_bytes = (server.used_bytes() - empty_bytes) / urls
    for number in range(urls):
        pipe.zadd("rival:requests", {_pickled_request(link(number, urls // URLS_PER_HOST).url): 0})
        if number % 5000 == 4999:
            pipe.execute()
    pipe.execute()
    queued_bytes = (server.used_bytes() - empty_bytes) / urls - seen_bytes
    server.client.unlink("rival:dupefilter", "rival:requests")
    return Rival(urls, seen_bytes, queued_bytes)


def _pickled_request(url: str) -> bytes:
    """The result of Scrapy 2's `Request.to_dict` for a followed link."""
    request: dict[str, Any] = {
        "url": url,
        "callback": "parse",
        "errback": None,
        "headers": {b"Referer": [b"https://www.site-1.example/section-3/article-1.html"]},
        "method": "GET",
        "body": b"",
        "cookies": {},
        "meta": {"depth": 3, "link_text": ""},
        "encoding": "utf-8",
        "priority": 0,
        "dont_filter": False,
        "flags": [],
        "cb_kwargs": {},
    }
    return pickle.dumps(request, protocol=-1)


async def enqueue(server: Server) -> Enqueued:
    """Offers 10,000 URLs in one call, and sends as many tasks by `apply_async` to the same Redis."""
    targets = [link(number, TASKS // URLS_PER_HOST)._replace(host=f"h{number % 1000}") for number in range(TASKS)]
    frontier = await RedisFrontier.open(server.url)
    await frontier.open_job("enqueued", Terms())
    began = time.monotonic()
    await frontier.offer(Caller("enqueue").next(), [Offer("enqueued", targets)])
    offered_s = time.monotonic() - began
    await frontier.close()
    return Enqueued(offered_s, apply_each(server, [target.url for target in targets]))


def apply_each(server: Server, urls: list[str]) -> float:
    """Seconds to send a task per URL, over one open connection."""
    app = Celery("rival", broker=server.url.removesuffix("0") + "1")
    app.conf.update(task_ignore_result=True, task_serializer="json")

    fetch: Any = app.task(_fetch, name="rival.fetch")
    with app.connection_for_write() as connection, connection.Producer() as producer:
        fetch.apply_async((urls[0],), producer=producer)
        began = time.monotonic()
        for url in urls:
            fetch.apply_async((url,), producer=producer)
        return time.monotonic() - began


def _fetch(url: str) -> None:
    """Never runs: only sending it is measured."""
