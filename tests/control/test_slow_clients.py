"""Clients that drip or speak no HTTP: none holds a thread for ever, and many at once keep nobody from an answer."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.cli.crawling import until
from tests.control.short_times import THREADS, Served, answered, served
from tests.fleet.by_hand import fleet_shell


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as fleet, served(fleet) as api:
        yield api


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """It would wait for minutes, where nobody is to wait."""
    with fleet_shell(tmp_path_factory.mktemp("patient")) as fleet, served(fleet, "long") as api:
        yield api


def test_a_json_body_that_drips_is_given_up(api: Served) -> None:
    for length, drop in ((1000, b" "), (None, b"1\r\n \r\n")):
        with api.begin("/jobs", "application/json", length) as sock:
            assert b" 408 " in answered(sock, drop), length


def test_a_stream_that_drips_is_given_up_and_what_had_come_is_told(api: Served) -> None:
    job = api.submit()
    for length, drop in ((None, b"1\r\na\r\n"), (1000, b"a")):
        with api.begin(f"/jobs/{job}/urls", "text/plain", length) as sock:
            assert b" 408 " in answered(sock, drop), length


def test_a_form_or_an_egg_that_drips_is_given_up_and_others_can_be_uploaded(api: Served) -> None:
    for path, length in (("/schedule.json", 1000), ("/addversion.json", 1000), ("/addversion.json", None)) * 2:
        with api.begin(path, "multipart/form-data; boundary=x", length, "/scrapyd") as sock:
            assert b" 408 " in answered(sock, b" " if length else b"1\r\n \r\n"), path


def test_a_head_that_drips_is_given_up(api: Served) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\nX-Slow: ")
        assert b" 408 " in answered(sock, b"a")


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


def test_connections_on_which_nothing_comes_keep_nobody_from_an_answer(patient: Served) -> None:
    with ExitStack() as opened:
        for _ in range(2 * THREADS):
            opened.enter_context(socket.create_connection(("127.0.0.1", patient.port)))
        assert patient.get("/api/v1/jobs") == 200


def test_many_who_drip_keep_nobody_from_an_answer(patient: Served) -> None:
    with ExitStack() as opened:
        job = patient.submit()
        streams = [patient.begin(f"/jobs/{job}/urls", "text/plain", None) for _ in range(THREADS)]
        bodies = [patient.begin("/jobs", "application/json", 60_000_000) for _ in range(THREADS)]
        for sock in (*streams, *bodies):
            opened.enter_context(sock)
        for _ in range(5):
            assert patient.get(f"/api/v1/jobs/{job}") == 200
        # Half of the threads are never a stream's.
        until(lambda: len(select.select(streams, [], [], 0)[0]) >= THREADS // 2)
        assert all(b" 503 " in sock.recv(1000) for sock in select.select(streams, [], [], 0)[0])
