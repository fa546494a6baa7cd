"""Clients that drip or speak no HTTP: none holds a thread for ever, and many at once keep nobody from an answer."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.control.short_times import THREADS, Served, answered, served
from tests.fleet.by_hand import fleet_shell


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as fleet, served(fleet) as api:
        yield api


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
