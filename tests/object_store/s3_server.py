"""A server of S3's protocol on loopback (moto), and the variables by which clients find it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from tempfile import TemporaryFile
from typing import IO

import pytest

SECRET = "s3cr3t-never-shown"
_RUNNING = re.compile(rb"Running on http://127\.0\.0\.1:(\d+)")


@dataclass
class S3Server:
    port: int
    _made: Iterator[int] = field(default_factory=count)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def new_bucket(self) -> str:
        name = f"bucket-{os.getpid()}-{next(self._made)}"
        self.make_bucket(name)
        return name

    def make_bucket(self, name: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")).close()

    def env(self, endpoint: str | None = None) -> dict[str, str]:
        """The provider's own variables."""
        return {
            "AWS_ENDPOINT_URL": endpoint or self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def running_s3() -> Iterator[S3Server]:
    if importlib.util.find_spec("moto") is None and os.environ.get("CI") != "true":
        pytest.skip("moto is missing: pip install 'moto[server]'")
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield S3Server(_port_of(process, log))
        finally:
            process.kill()
            process.wait()


def _port_of(process: subprocess.Popen[bytes], log: IO[bytes]) -> int:
    while True:
        ended = process.poll() is not None
        said = os.pread(log.fileno(), 1 << 16, 0)
        if found := _RUNNING.search(said):
            return int(found[1])
        assert not ended, f"moto ended: {said.decode()}"
        time.sleep(0.02)
