"""An API of one process with few threads, for tests of clients that behave badly."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from shoal.jobs.deployment import make_folder
from shoal.store.fleet.tokens import TokenScope, add_token
from shoal.store.store import Store
from tests.fleet.by_hand import FleetShell
from tests.frontier.redis_server import free_port

URL = "https://example.com/"
THREADS = 8
WITHIN_S = 120.0
SERVE = """
import sys, time
from pathlib import Path
from shoal.control.request_deadline import DeadlineSettings
from shoal.control.gunicorn_server import Application
from shoal.settings import Settings

class Busy(Application):
    def load(self):
        app = super().load()
        app.add_url_rule("/busy/<until>", "busy", self.busy)
        return app

    def busy(self, until):
        while not Path(home, until).exists():
            time.sleep(0.02)
        return "done"

home, redis, port, threads, waits = sys.argv[1:]
short = DeadlineSettings(head_s=2.0, body_s=1.5, hurried_s=1.0, piece_s=1.5)
times = short if waits == "shortly" else DeadlineSettings(head_s=60.0)
Busy(Settings(Path(home), redis_url=redis), f"127.0.0.1:{port}", 1, int(threads), times).run()
"""


class Served:
    def __init__(self, home: Path, port: int, token: str, process: subprocess.Popen[bytes]) -> None:
        self.home, self.port, self.token, self.process = home, port, token, process

    @contextmanager
    def busy(self, *addresses: str) -> Iterator[list[socket.socket]]:
        """Connections from these addresses, with a request each that is under way until the block is left."""
        until = f"until-{time.monotonic_ns()}"
        with ExitStack() as opened:
            head = f"GET /busy/{until} HTTP/1.1\r\n\r\n".encode()
            socks = [opened.enter_context(self.connect(head, address)) for address in addresses]
            opened.callback((self.home / until).touch)
            yield socks

    @property
    def pid(self) -> int:
        """Of the process that answers."""
        main = self.process.pid
        return int(Path(f"/proc/{main}/task/{main}/children").read_text().split()[0])

    def get(self, path: str, address: str = "127.0.0.1") -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S, source_address=(address, 0))
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        status = connection.getresponse().status
        connection.close()
        return status

    def connect(self, sent: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), WITHIN_S, (address, 0))
        sock.sendall(sent)
        return sock

    def submit(self) -> str:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/jobs", json.dumps({"urls": [URL]}), headers)
        made = json.loads(connection.getresponse().read())
        connection.close()
        return str(made["id"])

    def begin(self, path: str, media: str, length: int | None, prefix: str = "/api/v1") -> socket.socket:
        """A POST whose body is still to come."""
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = f"POST {prefix}{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.sendall(f"{head}Content-Type: {media}\r\n{framing}\r\n\r\n".encode())
        return sock


@contextmanager
def served(fleet: FleetShell, waits: str = "shortly") -> Iterator[Served]:
    """It waits for its clients shortly, or long."""
    make_folder(fleet.home)
    with Store.open(fleet.home / "shoal.db") as store:
        token = add_token(store, "test", TokenScope.ADMIN)
    port = free_port()
    command = [sys.executable, "-c", SERVE, str(fleet.home), fleet.redis.url, str(port), str(THREADS), waits]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        api = Served(fleet.home, port, token, process)
        deadline = time.monotonic() + WITHIN_S
        while not _answers(api):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        yield api
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def _answers(api: Served) -> bool:
    try:
        return api.get("/livez") == 200
    except OSError:
        return False


def answered(sock: socket.socket, drop: bytes) -> bytes:
    """The status line, for which a drop is sent every now and then."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if select.select([sock], [], [], 0.2)[0]:
            return sock.recv(1000).partition(b"\r\n")[0]
        sock.sendall(drop)
    raise AssertionError("it was read for ever")
