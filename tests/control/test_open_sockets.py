"""Clients that open connections and do not send or read: the API answers others, and always says that it lives."""

from __future__ import annotations

import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shoal.control.connection_limits import OTHER_FILES, ConnectionLimits
from shoal.control.gunicorn_server import GRACEFUL_S
from tests.cli.crawling import until
from tests.control.short_times import THREADS, WITHIN_S, Served, served
from tests.fleet.by_hand import FleetShell, fleet_shell

HEAD = b"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n"
OTHER = "127.0.0.2"
BOUNDS = ConnectionLimits()
PROMPT_S = 30.0
"""Far less than the minute for which the API waits for a head."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as fleet, served(fleet, "long") as api:
        yield api


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def took_s(api: Served, path: str, address: str = "127.0.0.1") -> float:
    began = time.monotonic()
    assert api.get(path, address) == 200
    return time.monotonic() - began


def check_others_are_answered(api: Served, address: str = "127.0.0.1") -> None:
    for path in ("/livez", "/readyz", "/api/v1/jobs"):
        assert took_s(api, path, address) < PROMPT_S


def test_unfinished_heads_and_idle_connections_delay_no_request(api: Served, opened: ExitStack) -> None:
    for _ in range(100):
        opened.enter_context(api.connect(HEAD))
    check_others_are_answered(api)
    for _ in range(400):
        opened.enter_context(api.connect())
    check_others_are_answered(api)
    check_others_are_answered(api, OTHER)


def test_health_is_answered_while_all_threads_are_busy(api: Served) -> None:
    with api.busy(*["127.0.0.1"] * THREADS) as busy:
        assert api.get("/livez") == api.get("/readyz") == 200
        assert not select.select(busy, [], [], 0)[0], "they were busy all the while"


def test_missing_bodies_hold_no_thread_after_a_refusal(api: Served, opened: ExitStack) -> None:
    for _ in range(8 * THREADS):
        opened.enter_context(api.connect(b"POST /api/v1/jobs HTTP/1.1\r\nContent-Length: 10\r\n\r\n"))
    check_others_are_answered(api)


def test_clients_that_do_not_read_hold_no_thread(api: Served, opened: ExitStack) -> None:
    for _ in range(4 * THREADS):
        sock = opened.enter_context(socket.socket())
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sock.connect(("127.0.0.1", api.port))
        sock.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 30)
    check_others_are_answered(api, OTHER)


def test_a_response_that_is_read_late_is_complete(api: Served, opened: ExitStack) -> None:
    sock = opened.enter_context(socket.socket())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sock.settimeout(WITHIN_S)
    sock.connect(("127.0.0.1", api.port))
    sock.sendall(b"GET /openapi.json HTTP/1.1\r\n\r\n" * 3 + b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert took_s(api, "/livez", OTHER) < PROMPT_S
    come = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    assert come.count(b"HTTP/1.1 200 OK") == 4 and come.count(b'"openapi": "3.1.0"') == 3
    assert come.endswith(b'{"status": "ok"}')


def test_beyond_the_limit_per_address_the_oldest_idle_connection_is_closed(api: Served, opened: ExitStack) -> None:
    most = BOUNDS.waiting.per_address
    others = [opened.enter_context(api.connect(address=OTHER)) for _ in range(3)]
    idle = [opened.enter_context(api.connect(address="127.0.0.3")) for _ in range(most + 20)]
    until(lambda: len(select.select(idle, [], [], 0)[0]) == 20)
    assert select.select(idle, [], [], 0)[0] == idle[:20] and not select.select(others, [], [], 0)[0]
    idle[-1].sendall(b"GET /livez HTTP/1.1\r\n\r\n")
    assert b" 200 " in idle[-1].recv(1000)


def test_beyond_the_limit_per_address_a_request_is_refused_at_once(api: Served) -> None:
    address = "127.0.0.4"
    with api.busy(*[address] * (BOUNDS.requests.per_address + 30)) as socks:
        assert api.get("/livez", address) == 200, "health is not counted among them"
        until(lambda: len(select.select(socks, [], [], 0)[0]) == 30)
        told = [sock.recv(1000) for sock in select.select(socks, [], [], 0)[0]]
        assert all(answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After: " in answer for answer in told)


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_requests_are_parsed_in_pieces_of_any_size(api: Served, opened: ExitStack, piece: int) -> None:
    token = f"Authorization: Bearer {api.token}\r\n"
    first = f"\r\nPOST /api/v1/jobs HTTP/1.1\r\n{token}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    text = f"{first}GET /livez HTTP/1.1\r\n\r\nGET /api/v1/jobs HTTP/1.1\r\n{token}Connection: close\r\n\r\n".encode()
    sock = opened.enter_context(api.connect())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for start in range(0, len(text), piece):
        sock.sendall(text[start : start + piece])
    come = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    assert [part[:3] for part in come.split(b"HTTP/1.1 ")[1:]] == [b"422", b"200", b"200"]


def test_a_head_that_cannot_be_http_is_refused_before_it_ends(api: Served, opened: ExitStack) -> None:
    for text, status in (
        (b"GET /livez HTTP/1.1\nHost: x\n\n", b" 400 "),
        (b"GET /" + b"x" * 9_000, b" 414 "),
        (b"GET /livez HTTP/1.1\r\n" + b"X: y\r\n" * 6_000, b" 431 "),
    ):
        assert status in opened.enter_context(api.connect(text)).recv(1000)
    sock = opened.enter_context(api.connect(b"\r\n\r\n"))
    assert b" 400 " in sock.recv(1000)


def test_without_a_file_for_another_connection_it_neither_spins_nor_ends(api: Served, opened: ExitStack) -> None:
    pid = api.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    assert soft >= min(BOUNDS.files + OTHER_FILES, hard)
    opened.callback(resource.prlimit, pid, resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: _accepted(api) == 0)
    idle = [opened.enter_context(api.connect()) for _ in range(5)]
    until(lambda: _accepted(api) == 5)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_first_free_file(pid), hard))
    assert api.get("/livez") == 200, "an idle connection gives way"
    assert select.select(idle, [], [], WITHIN_S)[0] == idle[:1]
    for sock in idle:
        sock.close()
    until(lambda: _accepted(api) == 0)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_first_free_file(pid), hard))
    waiting = opened.enter_context(api.connect(b"GET /livez HTTP/1.1\r\n\r\n"))
    used_s = _cpu_s(pid)
    assert not select.select([waiting], [], [], 1.5)[0]
    assert _cpu_s(pid) - used_s < 0.7
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert b" 200 " in waiting.recv(1000) and api.pid == pid


def test_idle_connections_do_not_delay_the_end(fleet: FleetShell, opened: ExitStack) -> None:
    with served(fleet) as api:
        for _ in range(20):
            opened.enter_context(api.connect())
        kept = opened.enter_context(api.connect(b"GET /livez HTTP/1.1\r\n\r\n"))
        assert b" 200 " in kept.recv(1000)
        newcomer = opened.enter_context(api.connect())
        assert api.get("/livez") == 200, "connections are accepted in turn"
        began = time.monotonic()
        api.process.terminate()
        newcomer.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert b" 200 " in newcomer.recv(1000), "it is not refused in the middle of a reload"
        api.process.wait(WITHIN_S)
        assert time.monotonic() - began < GRACEFUL_S


def _accepted(api: Served) -> int:
    """Connections of clients that its process has."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listens, not_accepted = "0A", "0"
    return sum(row[1].endswith(f":{api.port:04X}") and row[3] != listens and row[9] != not_accepted for row in rows)


def _first_free_file(pid: int) -> int:
    taken = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
