"""Takes start URLs from a list, set or sorted set in Redis, so that a kill loses none of them.

What is taken stays in a list of this process until its requests are in the frontier. If the process is gone before
that, another one returns it.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

TAKEN_S = 30
"""How long a process may take to bring what it took into the frontier."""

_TAKE = """
local kind, found = redis.call('TYPE', KEYS[1]).ok, {}
if kind == 'list' then
  found = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
  redis.call('LTRIM', KEYS[1], ARGV[1], -1)
elseif kind == 'set' then
  found = redis.call('SPOP', KEYS[1], ARGV[1])
elseif kind == 'zset' then
  found = redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1)
  redis.call('ZREMRANGEBYRANK', KEYS[1], -ARGV[1], -1)
end
if #found > 0 then
  redis.call('RPUSH', KEYS[2] .. ':' .. ARGV[2], unpack(found))
  redis.call('SET', KEYS[2] .. ':' .. ARGV[2] .. ':alive', kind, 'EX', ARGV[3])
  redis.call('HSET', KEYS[2], ARGV[2], kind)
end
return found
"""
_RETURN = """
local returned = 0
local holders = redis.call('HGETALL', KEYS[2])
for place = 1, #holders, 2 do
  local id, kind = holders[place], holders[place + 1]
  local key = KEYS[2] .. ':' .. id
  if redis.call('EXISTS', key .. ':alive') == 0 then
    for _, data in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if kind == 'set' then redis.call('SADD', KEYS[1], data)
      elseif kind == 'zset' then redis.call('ZADD', KEYS[1], 0, data)
      else redis.call('LPUSH', KEYS[1], data) end
      returned = returned + 1
    end
    redis.call('DEL', key)
    redis.call('HDEL', KEYS[2], id)
  end
end
return returned
"""


class StartUrls:
    def __init__(self, server: Any, key: str) -> None:
        """`server`: a client of redis-py."""
        self._key = key
        self._taken = f"{key}:taken"
        self._server = server
        self._id = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns():x}"

    def take(self, most: int) -> list[bytes]:
        """Sorted sets give the highest scores first. First returns what processes that are gone had taken."""
        self._server.eval(_RETURN, 2, self._key, self._taken)
        found: list[bytes] = self._server.eval(_TAKE, 2, self._key, self._taken, most, self._id, TAKEN_S)
        return found

    def keep(self) -> None:
        """Everything that was taken is in the frontier."""
        own = f"{self._taken}:{self._id}"
        self._server.delete(own, f"{own}:alive")
        self._server.hdel(self._taken, self._id)
