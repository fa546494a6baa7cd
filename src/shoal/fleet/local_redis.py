"""Configures the Redis that `shoal up` starts by default: on loopback, with a password, its data in the home."""

from __future__ import annotations

import secrets
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import Unavailable
from shoal.jobs.deployment import make_folder

PROGRAM = "redis-server"


@dataclass(frozen=True, slots=True)
class LocalRedis:
    program: str
    url: str
    configuration: str
    """For its standard input: every user of the machine could read the password on its command line."""


def local_redis(home: Path) -> LocalRedis:
    """Raises Unavailable if redis-server is not installed."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise Unavailable(
            f"{PROGRAM} is not in the PATH: install Redis 7 or newer (Debian, Ubuntu: apt-get install redis-server; "
            "macOS: brew install redis), or use a running one: SHOAL_REDIS_URL=redis://localhost:6379/0 shoal up"
        )
    folder = home / "redis"
    make_folder(folder)
    port, password = _free_port(), secrets.token_urlsafe(16)
    lines = [
        f"port {port}",
        "bind 127.0.0.1",
        f"requirepass {password}",
        f'dir "{folder}"',
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        # Redis must never evict queued requests.
        "maxmemory-policy noeviction",
        "always-show-logo no",
    ]
    return LocalRedis(program, f"redis://:{password}@127.0.0.1:{port}/0", "\n".join(lines) + "\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
