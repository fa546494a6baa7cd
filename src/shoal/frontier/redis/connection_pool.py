"""One bounded pool of connections to one Redis, with retries.

A command is sent again until a deadline if the connection breaks or the server is still loading. The verbs make a
repetition harmless. Only this module translates what redis-py raises into our errors.

Timeouts are here too, and not in redis-py's `socket_timeout`. That uses `asyncio.wait_for`, which in Python 3.11 loses
a cancellation that arrives when a command has just been sent. The task that cancelled would then wait for ever.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from shoal.errors import FrontierBroken, FrontierFull, FrontierLost, StaleCall, Unavailable, UsageError
from shoal.frontier.contract import LEASE_S
from shoal.frontier.redis.lua_library import library
from shoal.frontier.redis.tls_errors import missing_file, tls_fault

LEAST_VERSION = 7
BACKOFF_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)

_SETTING = "SHOAL_REDIS_URL"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How much of Redis the frontier may use, and how long it waits for Redis and for workers."""

    queued_per_job: int = 10_000_000
    queued_in_all: int = 50_000_000
    connections: int = 8
    """Per process, at least two: a sleeping worker keeps one. Further commands wait for a free one."""
    answer_s: float = 5.0
    """A command without an answer for this long is sent again."""
    patience_s: float = 10.0
    """A server that is away for longer is an error. A process that is told to stop waits no longer than this either."""
    lease_s: float = LEASE_S
    """A worker that is silent for longer loses its leases."""


class Memory(NamedTuple):
    used_bytes: int
    limit_bytes: int
    """0: none."""

    @property
    def is_full(self) -> bool:
        return 0 < self.limit_bytes <= self.used_bytes


class RedisConnection:
    def __init__(self, url: str, bounds: PoolLimits, broken: Callable[[], None]) -> None:
        """Calls `broken` whenever a connection broke: the server may have lost what it had confirmed."""
        self.address = _address(url)
        self._has_tls = url.startswith("rediss:")
        self.answer_s = bounds.answer_s
        self._patience_s = bounds.patience_s
        self._broken = broken
        pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
            url,
            max_connections=bounds.connections,
            timeout=None,
            socket_timeout=None,
            socket_connect_timeout=bounds.answer_s,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )
        self._redis: Redis = Redis.from_pool(pool)

    async def close(self) -> None:
        await self._redis.aclose()

    async def check(self) -> None:
        """Refuses a server that would lose requests, and says why."""
        server = await self.keep_trying(lambda: self._redis.info("server"))
        version = str(server["redis_version"])
        if int(version.split(".")[0]) < LEAST_VERSION:
            raise Unavailable(f"Redis at {self.address} is version {version}; Shoal needs {LEAST_VERSION} or newer")
        memory = await self.keep_trying(lambda: self._redis.info("memory"))
        policy = memory["maxmemory_policy"]
        if memory["maxmemory"] and policy != "noeviction":
            raise Unavailable(
                f"Redis at {self.address} would evict queued requests when its memory is full (maxmemory-policy "
                f"{policy}): set maxmemory-policy to noeviction"
            )

    async def memory(self) -> Memory:
        told = await self.keep_trying(lambda: self._redis.info("memory"))
        return Memory(int(told["used_memory"]), int(told["maxmemory"]))

    async def memory_is_full(self) -> bool:
        return (await self.memory()).is_full

    async def run_id(self) -> str:
        """Changes with every start of the server."""
        return str((await self.keep_trying(lambda: self._redis.info("server")))["run_id"])

    async def command(self, *args: Any) -> Any:
        """Sends any Redis command. It may be sent twice."""
        send: Any = self._redis.execute_command
        return await self.keep_trying(lambda: send(*args))

    async def run(self, verb: str, shard: str, args: bytes) -> bytes:
        command: Any = self._redis.execute_command
        function = library().function(verb)

        async def call() -> bytes:
            try:
                reply = await command("FCALL", function, 1, shard, args)
            except exceptions.ResponseError as error:
                if str(error) != "Function not found":
                    raise
                await command("FUNCTION", "LOAD", "REPLACE", library().source)
                reply = await command("FCALL", function, 1, shard, args)
            return bytes(reply)

        return await self.keep_trying(call)

    async def keys(self, cursor: int, pattern: str) -> tuple[int, list[Any]]:
        return await self.keep_trying(lambda: self._redis.scan(cursor, match=pattern, count=1000))

    def subscription(self) -> PubSub:
        return self._redis.pubsub()

    async def subscribe(self, subscription: PubSub, channel: str) -> None:
        """Raises what redis-py raises. The caller must check that the subscription is confirmed."""
        await self._answered(subscription.subscribe(channel))

    async def messages(self, channel: str) -> AsyncIterator[None]:
        """Yields once for every message of a channel, for ever. Messages sent while the server is away are lost."""
        while True:
            try:
                async with self.subscription() as subscription:
                    await self.subscribe(subscription, channel)
                    while True:
                        message = await subscription.get_message(timeout=None)
                        if message and message["type"] == "message":
                            yield
            except (exceptions.ConnectionError, exceptions.TimeoutError):
                await asyncio.sleep(BACKOFF_S[-1])

    async def keep_trying(self, act: Callable[[], Awaitable[T]]) -> T:
        deadline = time.monotonic() + self._patience_s
        for number, wait_s in enumerate(_waits()):
            try:
                return await self._answered(act())
            except (exceptions.AuthenticationError, exceptions.AuthorizationError) as error:
                raise Unavailable(f"Redis at {self.address} refuses the password: {_error_text(error)}") from error
            except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
                self._broken()
                if self._has_tls and (fault := tls_fault(error, _SETTING) or missing_file(error, _SETTING)):
                    # Waiting does not fix this.
                    raise Unavailable(f"Redis at {self.address} cannot be used: {fault}") from error
                # At least twice: if this process or the machine stood still, the answer was only read too late.
                if number > 0 and time.monotonic() + wait_s >= deadline:
                    raise Unavailable(f"Redis at {self.address} does not answer: {_error_text(error)}") from error
            except exceptions.ResponseError as error:
                raise self._translated(error) from error
            await asyncio.sleep(wait_s)
        raise AssertionError("the waits have no end")

    async def _answered(self, asked: Awaitable[T]) -> T:
        """Waits for the answer. Waiting for a free connection counts too."""
        try:
            async with asyncio.timeout(self.answer_s):
                return await asked
        except TimeoutError as error:
            raise exceptions.TimeoutError(f"no answer within {self.answer_s:g} s") from error

    def _translated(self, error: exceptions.ResponseError) -> Exception:
        # Redis appends the place in the library.
        word, _, said = str(error).split(" script: ")[0].partition(" ")
        if isinstance(error, exceptions.OutOfMemoryError):
            return FrontierFull(self.address)
        if word == "NOJOB":
            self._broken()
            return FrontierLost(said)
        if word == "STALE":
            return StaleCall(said)
        if word == "REFUSED":
            return UsageError(said)
        if word == "BROKEN":
            return FrontierBroken(said)
        return Unavailable(f"Redis at {self.address} refuses: {_error_text(error)}")


def _address(url: str) -> str:
    """Raises UsageError for a URL that redis-py would not accept either."""
    try:
        parse_url(url)
        parts = urlsplit(url)
        return f"{parts.hostname or parts.path}:{parts.port or 6379}"
    except ValueError:
        # The URL is not quoted, because it may hold a password.
        raise UsageError(f"{_SETTING} is not the URL of a Redis: write redis://:password@host:6379/0") from None


def _error_text(error: exceptions.RedisError) -> str:
    """Uses the system's message if there is one: redis-py repeats the address, and its wording depends on the case."""
    cause = error.__context__
    if isinstance(cause, OSError) and cause.errno and cause.errno > 0:
        return os.strerror(cause.errno)
    return str(error).rstrip(".")


def _waits() -> Iterator[float]:
    yield from BACKOFF_S
    while True:
        yield BACKOFF_S[-1]
