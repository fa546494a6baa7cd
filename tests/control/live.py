"""The whole of it for tests: a fleet of processes, its API as `shoal api` serves it, and the practice shop to crawl."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from shoal.fleet.fleet import Fleet
from shoal.practice import Running as Site
from shoal.practice import Shop, running
from shoal.store.fleet.tokens import TokenScope, add_token
from tests.fleet.running import Running
from tests.frontier.redis_server import free_port

SHOP = Shop(hosts=2, categories=3, products=24, troubled=False)
START_S = 120.0


@dataclass
class Live:
    fleet: Running
    site: Site
    url: str
    tokens: dict[TokenScope, str]
    pid: int
    """Of gunicorn's process that answers."""

    def page(self, number: int) -> str:
        """The shop's front page has as many URLs as one likes."""
        return self.site.url(f"/?n={number}")

    def send(
        self, method: str, path: str, body: Any = None, media: str = "", scope: TokenScope = TokenScope.ADMIN
    ) -> tuple[int, bytes]:
        """A body that is iterable is sent in chunks."""
        given = {"Authorization": f"Bearer {self.tokens[scope]}", **({"Content-Type": media} if media else {})}
        with closing(HTTPConnection(self.url.removeprefix("http://"), timeout=START_S)) as connection:
            connection.request(method, f"/api/v1{path}", body, given, encode_chunked=not isinstance(body, bytes))
            answered = connection.getresponse()
            return answered.status, answered.read()

    def call(self, method: str, path: str, body: Any = None, scope: TokenScope = TokenScope.ADMIN) -> tuple[int, Any]:
        status, text = self.send(method, path, json.dumps(body).encode(), "application/json", scope)
        return status, json.loads(text or b"null")

    def submit(self, *urls: str, **options: Any) -> str:
        polite = {"rate": 0}
        status, made = self.call("POST", "/jobs", {"urls": urls, "politeness": polite, **options})
        assert status == 201, made
        return str(made["id"])


@contextmanager
def living(folder: Path) -> Iterator[Live]:
    with (
        running(SHOP, log=folder / "site.log") as site,
        Running(folder, processes=1) as fleet,
        serving(fleet.environment, folder) as (url, pid),
    ):
        yield Live(fleet, site, url, fleet.by_hand(make_tokens), pid)


@contextmanager
def serving(environment: dict[str, str], folder: Path, port: int | None = None) -> Iterator[tuple[str, int]]:
    """`shoal api` over a fleet: its URL, and its process."""
    port = port or free_port()
    log = (folder / "api.log").open("wb")
    command = [sys.executable, "-m", "shoal", "api", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        _await(port, process, folder / "api.log")
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_S)
        log.close()


def memory_bytes(parent: int) -> int:
    """Resident, of a process and its children."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (parent, *children)]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


async def make_tokens(fleet: Fleet) -> dict[TokenScope, str]:
    return {scope: add_token(fleet.store, f"live-{scope}", scope) for scope in TokenScope}


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the API does not answer: {log.read_text()}")
