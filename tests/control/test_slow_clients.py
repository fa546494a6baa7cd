"""Clients that drip or speak no HTTP: none holds a thread for ever, and many at once keep nobody from an answer."""

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

import pytest

from shoal.jobs.place import make_folder
from shoal.store.store import Store
from shoal.store.tokens import Scope, add_token
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.frontier.redis_server import free_port

URL = "https://example.com/"
THREADS = 8
SERVE = """
import sys
from pathlib import Path
from shoal.control.deadline import Times
from shoal.control.serving import Application
from shoal.settings import Settings
home, redis, port, threads = sys.argv[1:]
times = Times(head_s=2.0, body_s=1.5, hurried_s=1.0, piece_s=1.5)
Application(Settings(Path(home), redis_url=redis), f"127.0.0.1:{port}", 1, int(threads), times).run()
"""


class Served:
    """An API whose times are short."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def get(self, path: str) -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        status = connection.getresponse().status
        connection.close()
        return status

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


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as fleet, served(fleet) as api:
        yield api


@contextmanager
def served(fleet: FleetShell) -> Iterator[Served]:
    make_folder(fleet.home)
    with Store.open(fleet.home / "shoal.db") as store:
        token = add_token(store, "test", Scope.ADMIN)
    port = free_port()
    command = [sys.executable, "-c", SERVE, str(fleet.home), fleet.redis.url, str(port), str(THREADS)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        api = Served(port, token)
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


def test_a_json_body_that_drips_is_given_up(api: Served) -> None:
    for length, drop in ((1000, b" "), (None, b"1\r\n \r\n")):
        with api.begin("/jobs", "application/json", length) as sock:
            assert b" 408 " in answered(sock, drop, 8), length


def test_a_stream_that_drips_is_given_up_and_what_had_come_is_told(api: Served) -> None:
    job = api.submit()
    for length, drop in ((None, b"1\r\na\r\n"), (1000, b"a")):
        with api.begin(f"/jobs/{job}/urls", "text/plain", length) as sock:
            assert b" 408 " in answered(sock, drop, 8), length


def test_a_head_that_drips_is_given_up(api: Served) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\nX-Slow: ")
        assert b" 408 " in answered(sock, b"a", 8)


def test_what_is_no_http_is_a_problem_like_any_other(api: Served) -> None:
    sent = {
        b"nonsense\r\n\r\n": 400,
        b"GET /livez HTTP/1.1\r\nno header\r\n\r\n": 400,
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n": 414,
        b"GET /livez HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n": 431,
    }
    for text, status in sent.items():
        with socket.create_connection(("127.0.0.1", api.port)) as sock:
            sock.sendall(text)
            head, _, body = sock.recv(5_000).partition(b"\r\n\r\n")
        told = json.loads(body)
        assert (int(head.split()[1]), told["status"]) == (status, status)
        assert b"application/problem+json" in head and told["request_id"].encode() in head and told["detail"]


def test_connections_on_which_nothing_comes_keep_nobody_from_an_answer(api: Served) -> None:
    with ExitStack() as opened:
        for _ in range(2 * THREADS):
            opened.enter_context(socket.create_connection(("127.0.0.1", api.port)))
        began = time.monotonic()
        assert api.get("/api/v1/jobs") == 200
        assert time.monotonic() - began < 2


def test_many_who_drip_keep_nobody_from_an_answer(api: Served) -> None:
    with ExitStack() as opened:
        job = api.submit()
        streams = [api.begin(f"/jobs/{job}/urls", "text/plain", None) for _ in range(THREADS)]
        bodies = [api.begin("/jobs", "application/json", 60_000_000) for _ in range(THREADS)]
        for sock in (*streams, *bodies):
            opened.enter_context(sock)
        time.sleep(0.3)
        began = time.monotonic()
        assert api.get(f"/api/v1/jobs/{job}") == 200
        # Those for whom no slot is left have two seconds, in two rounds: there are more of them than threads.
        assert time.monotonic() - began < 6
        began = time.monotonic()
        for _ in range(5):
            assert api.get(f"/api/v1/jobs/{job}") == 200
        assert time.monotonic() - began < 3
        told = [answered(sock, b"1\r\na\r\n", 8).split()[1] for sock in streams]
        assert told.count(b"503") >= THREADS // 2, "half of the threads are never a stream's"
        assert set(told) <= {b"503", b"408"}
