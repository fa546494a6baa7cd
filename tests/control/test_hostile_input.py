"""What no honest client sends, over real HTTP and while a job is crawled: each has its answer, and the crawl does not
notice."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from shoal.control.request_bodies import JSON_BYTES
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live, memory_bytes

JSON, LINES = "application/json", "text/plain"
LONG = JSON_BYTES - (1 << 20)


def begin(live: Live, path: str, media: str, length: int) -> socket.socket:
    """A POST whose body is still to come."""
    host, port = live.url.removeprefix("http://").split(":")
    sock = socket.create_connection((host, int(port)), timeout=120)
    head = f"POST /api/v1{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {live.tokens[TokenScope.ADMIN]}\r\n"
    sock.sendall(f"{head}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n".encode())
    return sock


def status_of(sock: socket.socket) -> int:
    return int(sock.recv(1000).split()[1])


@contextmanager
def crawling(live: Live) -> Iterator[str]:
    """A job goes on meanwhile, and comes to its whole end."""
    pages = [live.page(7_000 + number) for number in range(40)]
    job = live.submit(*pages, scope="listed", politeness={"rate": 20})
    yield job
    assert live.call("GET", f"/jobs/{job}")[0] == 200
    figures = live.fleet.until_ended(job)
    ended = {name: figures[name] for name in ("state", "pages", "dead", "queued")}
    assert ended == {"state": "done", "pages": 40, "dead": 0, "queued": 0}


def test_invalid_requests_and_unknown_paths_are_refused(live: Live) -> None:
    with crawling(live) as job:
        for body in (b"[" * 1_000_000, b'{"rules":' * 15_000, b'{"urls": ["\xff\xfe"]}', b"{"):
            status, told = live.send("POST", "/jobs", body, JSON)
            assert (status, json.loads(told)["status"]) == (400, 400), body[:20]
        other = live.submit(live.page(1), live.page(2), scope="listed")
        live.fleet.until_ended(other)
        cursor = json.loads(live.send("GET", f"/jobs/{other}/pages?limit=1")[1])["next"]
        assert cursor and live.send("GET", f"/jobs/{job}/pages?cursor={cursor}")[0] == 422
        assert live.send("GET", "/jobs/none")[0] == live.send("POST", "/jobs/none/urls", b'["a.test"]', JSON)[0] == 404
        assert live.send("POST", f"/jobs/{other}/urls", bytes(range(256)) * 40, LINES)[0] == 422


def test_two_gigabytes_are_refused_by_content_length(live: Live) -> None:
    with crawling(live), begin(live, "/jobs", JSON, 2 << 30) as sock:
        assert status_of(sock) == 413


def test_slow_clients_do_not_delay_the_crawl(live: Live) -> None:
    with ExitStack() as dripping, crawling(live) as job:
        fed = live.submit(live.page(3), scope="listed")
        socks = [begin(live, "/jobs", JSON, 1_000) for _ in range(6)]
        socks += [begin(live, f"/jobs/{fed}/urls", LINES, 1_000) for _ in range(6)]
        for sock in socks:
            dripping.enter_context(sock)
            sock.sendall(b" ")
        assert live.call("GET", f"/jobs/{job}")[0] == 200


def test_many_large_bodies_are_limited_in_total(live: Live) -> None:
    before = memory_bytes(live.pid)
    statuses = []
    with crawling(live), ExitStack() as opened:
        socks = [opened.enter_context(begin(live, "/jobs", JSON, LONG)) for _ in range(8)]
        for sock in socks:
            # All but the last byte: whoever is not refused is held.
            with suppress(ConnectionError, TimeoutError):
                sock.sendall(b'{"name": "')
                sock.sendall(b"x" * (LONG - 13))
        held = memory_bytes(live.pid) - before
        for sock in socks:
            with suppress(ConnectionError):
                sock.sendall(b'"} ')
            statuses.append(status_of(sock))
    # Each weighs three times its length.
    assert sorted(statuses) == [422] * 4 + [503] * 4
    assert held < 4 * LONG + (100 << 20)


@pytest.mark.parametrize("value", [b"[]", b"{}", b"0", b'"a"'])
def test_a_body_of_many_values_is_refused_before_it_takes_twenty_times_its_length(live: Live, value: bytes) -> None:
    before = memory_bytes(live.pid)
    body = b'{"urls": ["https://example.com/"], "rules": {"a": [' + b",".join([value] * 7_000_000) + b"]}}"
    status, told = live.send("POST", "/jobs", body, JSON)
    problem: dict[str, Any] = json.loads(told)
    assert status == 413 and "values" in problem["detail"]
    assert memory_bytes(live.pid) - before < 3 * len(body)
