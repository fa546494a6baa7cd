"""Sessions of the dashboard in Redis, so that every process of the API knows them.

{shoal:0}:login:<kind>:<hash>    the id of a token, until it expires
"""

from __future__ import annotations

from shoal.control.async_bridge import Bridge
from shoal.frontier.redis.shard import TAG


class RedisSessions:
    def __init__(self, over: Bridge) -> None:
        self._bridge = over

    def keep(self, kind: str, hashed: str, token: str, seconds: int) -> None:
        self._bridge.run(self._bridge.connection.command("SET", _key(kind, hashed), token, "EX", seconds))

    def find(self, kind: str, hashed: str) -> str | None:
        return _text(self._bridge.run(self._bridge.connection.command("GET", _key(kind, hashed))))

    def take(self, kind: str, hashed: str) -> str | None:
        return _text(self._bridge.run(self._bridge.connection.command("GETDEL", _key(kind, hashed))))


def _key(kind: str, hashed: str) -> str:
    return f"{TAG}:login:{kind}:{hashed}"


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
