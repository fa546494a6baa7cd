"""A list or a stream in Redis, with one entry of JSON for each item, for programs that take items from there.

A destination that is full makes the sink wait. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis

from shoal.errors import Unavailable, UsageError
from shoal.model import ItemType
from shoal.sinks.destination import Destination, Options, SinkBatch
from shoal.sinks.item_json import item_fields, json_line, removed_fields
from shoal.store.crawl.sink_state import Refusal
from shoal.telemetry.mask_secrets import masked

_MOST = 1_000_000
_CONNECT_S, _ANSWER_S = 5.0, 15.0
_ITEM = "item"
"""The field of a stream's entry."""


class RedisSink(Destination):
    fixed_batches = True

    def __init__(self, address: str, options: Options) -> None:
        self.address = masked(address.partition("?")[0])
        if ("list" in options) == ("stream" in options):
            raise UsageError(f"sink {self.address}: name a list or a stream, as in {self.address}?list=books")
        self._is_list = "list" in options
        self._name = options["list" if self._is_list else "stream"]
        self._most = _most(self.address, options)
        try:
            self._redis: Any = redis.Redis.from_url(
                address, socket_connect_timeout=_CONNECT_S, socket_timeout=_ANSWER_S
            )
        except (ValueError, TypeError) as error:
            raise UsageError(f"sink {self.address} is no URL of a Redis: {error}") from error
        self._pushed = 0
        """How many entries of a batch were pushed before one had no room."""

    def prepare(self, types: Sequence[ItemType]) -> None:
        with self._translated():
            self._length()

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        skipped = self._pushed
        with self._translated():
            for chunk in batch.chunks:
                skipped = self._push([json_line(item_fields(batch.job, item)) for item in chunk], skipped)
            self._push([json_line(removed_fields(batch.job, name)) for name in batch.removed], skipped)
        self._pushed = 0
        return []

    def close(self) -> None:
        self._redis.close()

    def _push(self, entries: Sequence[str], skipped: int) -> int:
        """Returns how many of the next entries are there already."""
        if skipped >= len(entries):
            return skipped - len(entries)
        left = entries[skipped:]
        while left:
            room = self._room()
            self._add(left[:room])
            self._pushed += len(left[:room])
            left = left[room:]
        return 0

    def _room(self) -> int:
        room = self._most - self._length()
        if room <= 0 and not self._is_list:
            self._trim_stream()
            room = self._most - self._length()
        if room <= 0:
            kind = "list" if self._is_list else "stream"
            full = f"{self.address}: the {kind} {self._name} has {self._most:,} entries"
            raise Unavailable(f"{full}: take some from it, or raise max_length")
        return int(room)

    def _add(self, entries: Sequence[str]) -> None:
        with self._redis.pipeline() as pipeline:
            if self._is_list:
                pipeline.rpush(self._name, *(entry.encode("utf-8", "replace") for entry in entries))
            else:
                for entry in entries:
                    pipeline.xadd(self._name, {_ITEM: entry.encode("utf-8", "replace")})
            pipeline.execute()

    def _length(self) -> int:
        return int(self._redis.llen(self._name) if self._is_list else self._redis.xlen(self._name))

    def _trim_stream(self) -> None:
        """Removes what every consumer group has read and acknowledged. Without a group somebody else must trim it."""
        groups = self._redis.xinfo_groups(self._name)
        if groups:
            time, place = min(map(self._first_open, groups))
            self._redis.xtrim(self._name, minid=f"{time}-{place}", approximate=False)

    def _first_open(self, group: dict[str, Any]) -> tuple[int, int]:
        """The first entry that the group has not read or not acknowledged."""
        if group["pending"]:
            return _entry_id(self._redis.xpending(self._name, group["name"])["min"])
        time, place = _entry_id(group["last-delivered-id"])
        return time, place + 1

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (redis.ConnectionError, redis.TimeoutError, redis.exceptions.OutOfMemoryError) as error:
            if isinstance(error, redis.AuthenticationError):
                raise UsageError(f"{self.address}: {error}: check the sink's URL and its secret") from error
            raise Unavailable(f"{self.address}: {error}") from error
        except redis.ResponseError as error:
            raise UsageError(f"{self.address}: {error}: check the sink's URL and {self._name}") from error
        except redis.RedisError as error:
            raise Unavailable(f"{self.address}: {error}") from error


def _entry_id(id: bytes | str) -> tuple[int, int]:
    time, _, place = (id.decode() if isinstance(id, bytes) else id).partition("-")
    return int(time), int(place)


def _most(address: str, options: Options) -> int:
    text = options.get("max_length", str(_MOST))
    if not text.isdecimal() or not int(text):
        raise UsageError(f"sink {address}: max_length={text} is no number above 0")
    return int(text)
