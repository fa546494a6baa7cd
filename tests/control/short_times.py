"""An API of one process with few threads and short times, for tests of clients that behave badly."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from shoal.jobs.place import make_folder
from shoal.store.store import Store
from shoal.store.tokens import Scope, add_token
from tests.fleet.by_hand import FleetShell
from tests.frontier.redis_server import free_port

URL = "https://example.com/"
THREADS = 8
SERVE = """
import sys, time
from pathlib import Path
from shoal.control.deadline import Times
from shoal.control.serving import Application
from shoal.settings import Settings

class Busy(Application):
    def load(self):
        app = super().load()
        app.add_url_rule("/busy/<float:seconds>", "busy", lambda seconds: str(time.sleep(seconds)))
        return app

home, redis, port, threads = sys.argv[1:]
times = Times(head_s=2.0, body_s=1.5, hurried_s=1.0, piece_s=1.5)
Busy(Settings(Path(home), redis_url=redis), f"127.0.0.1:{port}", 1, int(threads), times).run()
"""


class Served:
    """An API whose times are short."""

    def __init__(self, port: int, token: str, process: subprocess.Popen[bytes]) -> None:
        self.port, self.token, self.process = port, token, process

    @property
    def pid(self) -> int:
        """Of the process that answers."""
        main = self.process.pid
        return int(Path(f"/proc/{main}/task/{main}/children").read_text().split()[0])

    def get(self, path: str, address: str = "127.0.0.1") -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20, source_address=(address, 0))
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        status = connection.getresponse().status
        connection.close()
        return status

    def connect(self, sent: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), 20, (address, 0))
        sock.sendall(sent)
        return sock

    def submit(self) -> str:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/jobs", json.dumps({"urls": [URL]}), headers)
        made = json.loads(connection.getresponse().read())
        connection.close()
        return str(made["id"])

    def begin(self, path: str, media: str, length: int | None) -> socket.socket:
        """A POST whose body is still to come."""
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.sendall(f"{head}Content-Type: {media}\r\n{framing}\r\n\r\n".encode())
        return sock


@contextmanager
def served(fleet: FleetShell) -> Iterator[Served]:
    make_folder(fleet.home)
    with Store.open(fleet.home / "shoal.db") as store:
        token = add_token(store, "test", Scope.ADMIN)
    port = free_port()
    command = [sys.executable, "-c", SERVE, str(fleet.home), fleet.redis.url, str(port), str(THREADS)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        api = Served(port, token, process)
        deadline = time.monotonic() + 30
        while not _answers(api):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        yield api
    finally:
        process.terminate()
        process.wait(30)


def _answers(api: Served) -> bool:
    try:
        return api.get("/livez") == 200
    except OSError:
        return False


def answered(sock: socket.socket, drop: bytes, within_s: float) -> bytes:
    """The status line, for which a drop is sent every now and then."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if select.select([sock], [], [], 0.2)[0]:
            return sock.recv(1000).partition(b"\r\n")[0]
        sock.sendall(drop)
    raise AssertionError("it was read for ever")
