"""Spiders that read their start URLs from Redis, as scrapy-redis has them: change the import, and keep the spider."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import redis
from scrapy import FormRequest, Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.spiders import CrawlSpider, Spider

from shoal.errors import UsageError
from shoal.scrapy.project_settings import scrapy_redis_url, shoal_settings
from shoal.scrapy.redis_start_urls import StartUrls

START_URLS_KEY = "%(name)s:start_urls"
ANSWER_S = 5
log = logging.getLogger("shoal.scrapy")


def redis_client(settings: Any) -> Any:
    """The client of redis-py for the Redis of the project. The settings of scrapy-redis come first: start URLs are
    pushed there. Raises UsageError if there is none."""
    url = scrapy_redis_url(settings) or shoal_settings(settings).redis_url
    if url is None:
        raise UsageError("there is no Redis: set REDIS_URL or SHOAL_REDIS_URL")
    # Callers wait for the connection: a pool that does not block would raise.
    pool = redis.BlockingConnectionPool.from_url(
        url, max_connections=1, timeout=None, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S
    )
    return redis.Redis(connection_pool=pool)


class RedisMixin:
    redis_key: str | None = None
    redis_batch_size: int | None = None
    redis_encoding: str | None = None
    max_idle_time: int | None = None
    server: Any = None
    name: str
    crawler: Any

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **named: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **named)  # type: ignore[misc]
        spider.setup_redis(crawler)
        return spider

    def setup_redis(self, crawler: Any = None) -> None:
        if self.server is not None:
            return
        crawler = crawler or self.crawler
        settings = crawler.settings
        self.redis_key = (self.redis_key or settings["REDIS_START_URLS_KEY"] or START_URLS_KEY) % {"name": self.name}
        size = self.redis_batch_size or settings.getint("REDIS_START_URLS_BATCH_SIZE")
        self.redis_batch_size = int(size or settings.getint("CONCURRENT_REQUESTS"))
        self.redis_encoding = self.redis_encoding or settings.get("REDIS_ENCODING", "utf-8")
        if self.max_idle_time is None:
            self.max_idle_time = settings.getint("MAX_IDLE_TIME_BEFORE_CLOSE")
        self.server = redis_client(settings)
        self._start_urls = StartUrls(self.server, self.redis_key)
        self._busy_at = time.monotonic()
        crawler.signals.connect(self.spider_idle, signal=signals.spider_idle)
        log.info("reads start URLs from %s in Redis, %s at a time", self.redis_key, self.redis_batch_size)

    async def start(self) -> AsyncIterator[Any]:
        for request in self.next_requests():
            yield request

    def next_requests(self) -> Iterator[Any]:
        """Requests of the next start URLs. An empty queue, or a Redis that is away, gives none."""
        try:
            found = self._start_urls.take(self.redis_batch_size or 1)
        except redis.RedisError as error:
            log.warning("waiting: start URLs cannot be read: %s", error)
            return
        for data in found:
            yield from self._made(data)
        if found:
            self._busy_at = time.monotonic()
            self._when_offered(self._keep)

    def _made(self, data: bytes) -> Iterable[Any]:
        try:
            made = self.make_request_from_data(data)
        except ValueError as error:
            log.error("an entry of %s is left out: %r: %s", self.redis_key, data, error)
            return []
        return made if isinstance(made, Iterable) else [made] if made else []

    def _keep(self) -> None:
        try:
            self._start_urls.keep()
        except redis.RedisError as error:
            log.warning("start URLs may be read twice: %s", error)

    def make_request_from_data(self, data: bytes) -> Any:
        """A request, several, or none, for one entry of the queue: a URL, or a JSON object with `url`, and if need be
        `method`, `meta` and fields of a form. Override it for other data."""
        text = data.decode(self.redis_encoding or "utf-8").strip()
        if not text.startswith("{"):
            return Request(text, dont_filter=True)
        fields = json.loads(text)
        url = fields.pop("url", None)
        if not url:
            log.warning("an entry of %s has no url: %s", self.redis_key, text)
            return None
        method, meta = str(fields.pop("method", "GET")).upper(), fields.pop("meta", {})
        return FormRequest(url, dont_filter=True, method=method, formdata=fields, meta=meta)

    def schedule_next_requests(self) -> None:
        for request in self.next_requests():
            self.crawler.engine.crawl(request)

    def spider_idle(self) -> None:
        """Keeps the spider open, until it has been idle for MAX_IDLE_TIME_BEFORE_CLOSE seconds (0: for ever)."""
        self.schedule_next_requests()
        idle_s = time.monotonic() - self._busy_at
        if not self.max_idle_time or idle_s < self.max_idle_time:
            raise DontCloseSpider

    def _when_offered(self, act: Any) -> None:
        scheduler = self.crawler.engine._slot.scheduler
        when_offered = getattr(scheduler, "when_offered", None)
        if when_offered is None:
            act()
        else:
            when_offered(act)


class RedisSpider(RedisMixin, Spider):
    pass


class RedisCrawlSpider(RedisMixin, CrawlSpider):
    pass
