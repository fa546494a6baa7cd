"""A Redis transport for Celery that survives invalid messages in the queues.

It discards an invalid message (message_checks.py), logs its first bytes and counts it. To kombu the queue looks empty.
It does not check other queues, such as those for replies to `celery inspect`: a worker does not read them.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import Any

import redis
from celery.worker import consumer
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as kombu_redis
from redis.client import PubSub

from shoal.fleet.message_checks import Payload, RefusedMessage, read_control, read_task
from shoal.model import Lane
from shoal.telemetry import EventLogger

LOG_EVERY_S = 60.0
"""Per reason: a queue full of garbage must not fill the log."""
SAMPLE_BYTES = 200
_LANES = frozenset(Lane)
_CONTROL = "celery.pidbox"

log = EventLogger(__name__)


class RefusedMessages:
    """Counts by reason: Celery's thread adds, the watchdog takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._unlogged: Counter[str] = Counter()
        self._logged_at: dict[str, float] = {}

    def add(self, queue: str, refused: RefusedMessage, item: bytes) -> None:
        reason, now = refused.reason, time.monotonic()
        with self._lock:
            self._counts[reason] += 1
        if now - self._logged_at.get(reason, -LOG_EVERY_S) < LOG_EVERY_S:
            self._unlogged[reason] += 1
            return
        more, self._logged_at[reason] = self._unlogged.pop(reason, 0), now
        text = f"discarded a message in queue {queue}: {refused}; it begins with {item[:SAMPLE_BYTES]!r}"
        if more:
            text += f"; {more} more like it since the last log line"
        log.warning("message_refused", text, queue=queue, reason=reason)

    def take(self) -> Counter[str]:
        """The counts since the last call."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts


refused_messages = RefusedMessages()


class _CheckingClient(redis.Redis):
    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        reply = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]
        if command_name != "BRPOP" or not reply:
            return reply
        key, item = reply
        queue = key.decode(errors="replace").split(kombu_redis.Channel.sep, 1)[0]
        if queue not in _LANES:
            return reply
        try:
            return key, _packed(read_task(item, queue))
        except RefusedMessage as refused:
            refused_messages.add(queue, refused, item)
            return None

    def pubsub(self, **options: Any) -> _CheckingPubSub:
        return _CheckingPubSub(self.connection_pool, **options)


class _CheckingPubSub(PubSub):
    def parse_response(self, *args: Any, **options: Any) -> Any:
        reply = super().parse_response(*args, **options)  # type: ignore[no-untyped-call]
        if not isinstance(reply, list) or not reply[0].endswith(b"message") or _CONTROL.encode() not in reply[-2]:
            return reply
        try:
            return [*reply[:-1], _packed(read_control(reply[-1]))]
        except RefusedMessage as refused:
            refused_messages.add(_CONTROL, refused, reply[-1])
            return None


def _packed(payload: Payload) -> bytes:
    return json.dumps(payload).encode()


class _Checking:
    def _get_client(self) -> type[redis.Redis]:
        return _CheckingClient


class Channel(_Checking, kombu_redis.Channel):
    pass


class SentinelChannel(_Checking, kombu_redis.SentinelChannel):
    pass


class Transport(kombu_redis.Transport):
    Channel = Channel


class SentinelTransport(kombu_redis.SentinelTransport):
    Channel = SentinelChannel


def use_checking_transport() -> None:
    """Must be called before the first connection. Replaces kombu's transport names, because a URL like redis+socket://
    chooses its transport by name and ignores `broker_transport`."""
    checking = dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport")
    TRANSPORT_ALIASES.update(checking, sentinel=f"{__name__}:SentinelTransport")


class Consumer(consumer.Consumer):  # type: ignore[misc]
    """The consumer for `worker_consumer`. It turns off gossip and mingle even if the command line asks for them: Shoal
    needs neither, and their messages, which anyone with access to the broker can write, are not checked."""

    def __init__(self, *args: Any, worker_options: dict[str, Any] | None = None, **named: Any) -> None:
        unused = {"without_gossip": True, "without_mingle": True}
        super().__init__(*args, worker_options={**(worker_options or {}), **unused}, **named)
