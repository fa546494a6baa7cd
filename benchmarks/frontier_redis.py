"""A Redis server for the benchmark, and its own statistics."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from benchmarks.measure import CannotMeasure
from benchmarks.servers import free_port

START_S = 10.0


class Server:
    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        self.client: Any = redis.Redis(port=port)

    def used_bytes(self) -> int:
        return int(self.client.info("memory")["used_memory"])

    def cpu_s(self) -> float:
        info = self.client.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])

    def calls(self) -> int:
        """Calls by workers; does not count the commands inside the functions."""
        return int(self.client.info("commandstats")["cmdstat_fcall"]["calls"])

    def commands(self, name: str) -> int:
        """How often this command was called."""
        stats = self.client.info("commandstats").get(f"cmdstat_{name}")
        return int(stats["calls"]) if stats else 0

    def connected(self) -> int:
        """Connections, including this one."""
        return int(self.client.info("clients")["connected_clients"])

    def version(self) -> str:
        return str(self.client.info("server")["redis_version"])


@contextmanager
def redis_server(scratch: Path, *, append_only: bool) -> Iterator[Server]:
    program = shutil.which("redis-server")
    if not program:
        raise CannotMeasure("redis-server is missing; install it first (Debian, Ubuntu: apt-get install redis-server)")
    port = free_port()
    place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(scratch), "--save", "", "--databases", "2"]
    keep = ["--appendonly", "yes" if append_only else "no", "--logfile", str(scratch / "redis.log")]
    with subprocess.Popen([program, *place, *keep]) as process:
        server = Server(port)
        try:
            _wait_until_open(server)
            yield server
        finally:
            server.client.close()
            process.kill()


def _wait_until_open(server: Server) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            server.client.ping()
            return
        except redis.ConnectionError:
            time.sleep(0.02)
    raise CannotMeasure(f"redis-server did not answer within {START_S:.0f} s")
