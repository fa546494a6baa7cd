"""A Redis that a frontier cannot stand on is named when it is opened, with what to do, and without its password."""

from __future__ import annotations

import socketserver
import threading

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.frontier.redis import PoolLimits, RedisFrontier
from tests.frontier.redis_server import RedisServer


async def test_a_redis_that_evicts_is_refused(own_server: RedisServer) -> None:
    own_server.client.config_set("maxmemory", "100mb")
    own_server.client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(Unavailable, match=r"allkeys-lru.*set maxmemory-policy to noeviction"):
        await RedisFrontier.open(own_server.url)


class OldRedis(socketserver.StreamRequestHandler):
    """Answers as Redis 6 would: OK to everything, and its version."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            words = [self.rfile.readline() and self.rfile.readline().strip() for _ in range(int(line[1:]))]
            told = b"redis_version:6.2.14\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
            self.wfile.write(b"$%d\r\n%s\r\n" % (len(told), told) if words[0] == b"INFO" else b"+OK\r\n")


async def test_an_old_redis_is_refused_with_its_version() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldRedis) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Unavailable, match=r"is version 6\.2\.14; Shoal needs 7"):
            await RedisFrontier.open(f"redis://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


async def test_a_missing_redis_is_named_without_its_password() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer: Connection refused$") as raised:
        await RedisFrontier.open("redis://user:secret@127.0.0.1:1/0", PoolLimits(patience_s=0.2))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://:secret@127.0.0.1/0", "redis://:secret@127.0.0.1:x/0"])
async def test_what_is_no_url_of_a_redis_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="SHOAL_REDIS_URL is not the URL of a Redis") as raised:
        await RedisFrontier.open(url)
    assert "secret" not in str(raised.value)
