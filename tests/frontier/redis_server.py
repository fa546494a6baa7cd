"""A Redis of the tests' own, on loopback, with an append-only file as a fleet would have it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import redis

START_S = 120.0


class RedisServer:
    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client: Any = redis.Redis(port=self.port, socket_timeout=30)
        self.start()

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.kill()

    def start(self) -> None:
        """Also after a kill: with what the append-only file holds."""
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        # Never synced: no test cuts the power, and a disk that is slow to sync holds every call up for seconds.
        keep = ["--appendonly", "yes", "--appendfsync", "no", "--save", ""]
        log = ["--logfile", str(self._folder / "log")]
        self._process = subprocess.Popen([redis_program(), *place, *keep, *log, *self._options])
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert time.monotonic() < deadline and self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.02)

    @contextmanager
    def copied(self) -> Iterator[Callable[[], None]]:
        """What it has now is copied aside; the call that is given kills it, puts the copy back and starts it again: as
        if a replica that is behind had taken over."""
        with tempfile.TemporaryDirectory() as aside:
            copy = Path(aside) / "copy"
            self.stand_still()
            shutil.copytree(self._folder, copy)
            self.go_on()

            def put_back() -> None:
                self.kill()
                shutil.rmtree(self._folder)
                shutil.copytree(copy, self._folder)
                self.start()

            yield put_back

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stand_still(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def take_all_slots(self) -> None:
        self.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + START_S
        while b"cluster_state:ok" not in self.client.execute_command("CLUSTER", "INFO"):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


def serves_strangers(port: int) -> bool:
    """Whether that Redis does what somebody without a password says."""
    with redis.Redis(port=port) as stranger:
        try:
            return bool(stranger.ping())
        except redis.AuthenticationError:
            return False


def redis_program() -> str:
    program = shutil.which("redis-server")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("redis-server is missing: install it (Debian, Ubuntu: apt-get install redis-server)")
    assert program, "redis-server is missing"
    return program


def _ports() -> Iterator[int]:
    """Below those that the system gives to whoever asks for any, and only those of this process of pytest: nobody
    takes one while its server is being started, or killed and started again.
    """
    share, shares = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    # The bus of a server in cluster mode is 10,000 above.
    ports = list(range(12_000 + int(share.removeprefix("gw")), 22_000, int(shares)))
    random.shuffle(ports)
    return cycle(ports)


_PORTS = _ports()


def free_port() -> int:
    return next(port for port in _PORTS if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
