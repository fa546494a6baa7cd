"""Limits of single proxies over all processes and jobs of a fleet, kept in Redis.

    {shoal:0}:proxy_slots:<pool>:<proxy>    zset; requests in flight -> when they count as lost
    {shoal:0}:proxy_clock:<pool>:<proxy>    when the next request may begin, in microseconds

Redis decides and takes in one step, by its own clock. The name of a pool has no colon in it.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from shoal.errors import Unavailable
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.shard import TAG
from shoal.model.proxy_list import Proxy

FULL_WAIT_S = 0.05
AWAY_WAIT_S = 1.0
"""While Redis does not answer, no request begins. The frontier is in the same Redis."""
HELD_S = 12.0
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local concurrency, gap, held = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if concurrency > 0 then
    -- The call may be sent twice.
    if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
    if redis.call('ZCARD', KEYS[1]) >= concurrency then return -1 end
end
if gap > 0 then
    local next_at = tonumber(redis.call('GET', KEYS[2]) or '0')
    if next_at > now then return next_at - now end
    redis.call('SET', KEYS[2], string.format('%.0f', now + gap), 'PX', math.ceil(gap / 1000) + 1000)
end
if concurrency > 0 then
    redis.call('ZADD', KEYS[1], string.format('%.0f', now + held), ARGV[1])
    redis.call('PEXPIRE', KEYS[1], math.ceil(held / 1000))
end
return 0
"""
_RENEW = """
local time = redis.call('TIME')
local until_us = string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[1])
-- Not those that were given back meanwhile.
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', until_us, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[1] / 1000))
return 0
"""
_MICROS = 1_000_000


class RedisProxyLimits:
    def __init__(self, connection: RedisConnection, user: str, held_s: float = HELD_S) -> None:
        """`user`: the name of this process."""
        self._command = connection.command
        self._user = user
        self._held_us = str(int(held_s * _MICROS))
        self._numbers = count()
        self._held: dict[str, list[str]] = {}
        """Slots -> the requests of this process that hold one."""

    async def take(self, pool: str, proxy: Proxy) -> float:
        slots, clock = _key("slots", pool, proxy), _key("clock", pool, proxy)
        request = f"{self._user} {next(self._numbers)}"
        gap_us = int(_MICROS / proxy.rate) if proxy.rate else 0
        numbers = str(proxy.concurrency), str(gap_us), self._held_us
        try:
            wait_us = int(await self._command("EVAL", _TAKE, 2, slots, clock, request, *numbers))
        except Unavailable:
            return AWAY_WAIT_S
        if wait_us == 0 and proxy.concurrency:
            self._held.setdefault(slots, []).append(request)
        return FULL_WAIT_S if wait_us < 0 else wait_us / _MICROS

    async def give_back(self, pool: str, proxy: Proxy) -> None:
        slots = _key("slots", pool, proxy)
        # Any of them: they all count the same.
        if held := self._held.get(slots):
            request = held.pop()
            with suppress(Unavailable):
                await self._command("ZREM", slots, request)

    async def renew(self) -> None:
        self._held = {slots: requests for slots, requests in self._held.items() if requests}
        for slots, requests in list(self._held.items()):
            await self._command("EVAL", _RENEW, 1, slots, self._held_us, *requests)


def _key(kind: str, pool: str, proxy: Proxy) -> str:
    return f"{TAG}:proxy_{kind}:{pool}:{proxy.name}"
