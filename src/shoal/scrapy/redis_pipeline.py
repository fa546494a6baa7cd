"""Pushes each item to a list in Redis, as scrapy-redis does, before its request is completed."""

from __future__ import annotations

import logging
import time
from typing import Any

import redis
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import load_object
from scrapy.utils.serialize import ScrapyJSONEncoder
from twisted.internet.threads import deferToThread

from shoal.scrapy.redis_spiders import redis_client

ITEMS_KEY = "%(spider)s:items"
AWAY_S = 1.0
log = logging.getLogger("shoal.scrapy")


class RedisPipeline:
    def __init__(self, server: Any, key: str, serialize: Any, spider: Any) -> None:
        self.server = server
        self.key = key
        self.serialize = serialize
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Any) -> RedisPipeline:
        settings = crawler.settings
        path = settings["REDIS_ITEMS_SERIALIZER"]
        serialize = load_object(path) if path else ScrapyJSONEncoder().encode
        return cls(redis_client(settings), settings["REDIS_ITEMS_KEY"] or ITEMS_KEY, serialize, crawler.spider)

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        """In a thread: a slow Redis does not stop downloads."""
        return await maybe_deferred_to_future(deferToThread(self._push, item, spider or self._spider))

    def _push(self, item: Any, spider: Any) -> Any:
        key, data = self.item_key(item, spider), self.serialize(item)
        while True:
            try:
                self.server.rpush(key, data)
                return item
            except (redis.ConnectionError, redis.TimeoutError) as error:
                log.warning("waiting: an item cannot be pushed: %s", error)
                time.sleep(AWAY_S)

    def item_key(self, item: Any, spider: Any) -> str:
        """Override it to choose a key by item."""
        return self.key % {"spider": spider.name}
