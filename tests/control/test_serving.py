"""`shoal api` as an operator runs it: the first token, stopping and reloading, and clients that send slowly or too
much."""

from __future__ import annotations

import http.client
import json
import os
import pty
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shoal.control.first_token import FILE
from tests.cli.crawling import until
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.frontier.redis_server import free_port
from tests.store.postgres_server import PostgresServer

START_S = 120.0
URL = "https://example.com/"
BREAKING = """
import os, sys
from pathlib import Path
from shoal.control.gunicorn_server import Application
from shoal.settings import Settings

def parts():
    yield b"x" * 70_000
    raise RuntimeError("what was being read is gone")

class Breaking(Application):
    def load(self):
        app = super().load()
        app.add_url_rule("/breaks", "breaks", parts)
        app.add_url_rule("/pid", "pid", lambda: str(os.getpid()))
        return app

home, redis, port = sys.argv[1:]
Breaking(Settings(Path(home), redis_url=redis), f"127.0.0.1:{port}", 1, 2).run()
"""


@dataclass
class Served:
    process: subprocess.Popen[str]
    port: int
    token: str
    below: str = ""
    """The path of its site that it is served below."""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, self.below + path, None if body is None else json.dumps(body), headers)
            answered = connection.getresponse()
            return answered.status, json.loads(answered.read() or b"null")
        finally:
            connection.close()

    def drip(self, head: bytes) -> socket.socket:
        slow = socket.create_connection(("127.0.0.1", self.port))
        slow.sendall(head)
        return slow

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=START_S)
        return self.process.returncode, out, err


@contextmanager
def served(fleet: FleetShell, *options: str, **named: Any) -> Iterator[Served]:
    with starting(fleet, *options, **named) as running:
        running.token = (fleet.home / FILE).read_text().strip()
        yield running


@contextmanager
def starting(fleet: FleetShell, *options: str, below: str = "", **named: Any) -> Iterator[Served]:
    """It answers, but its token is not known."""
    port = free_port()
    process = fleet.start("api", "--port", str(port), *options, **named)
    running = Served(process, port, "", below)
    try:
        until(lambda: _answers(running) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        yield running
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With two threads, for tests that do not end it."""
    with fleet_shell(tmp_path_factory.mktemp("fleet")) as fleet, served(fleet, "--threads", "2") as api:
        yield api


def _answers(running: Served) -> bool:
    with suppress(OSError, http.client.HTTPException):
        return running.ask("GET", "/livez")[0] == 200
    return False


def test_a_terminal_shows_the_first_token_once_and_a_file_that_only_its_owner_reads_keeps_it(fleet: FleetShell) -> None:
    ours, theirs = pty.openpty()
    with served(fleet, stdout=theirs) as api:
        status, made = api.ask("POST", "/api/v1/jobs", {"urls": [URL]})
        assert (status, made["accepted"]) == (201, 1)
        api.process.send_signal(signal.SIGTERM)
        code, _, err = api.ended()
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert (code, shown.strip()) == (0, api.token)
    assert stat.S_IMODE((fleet.home / FILE).stat().st_mode) == 0o600
    assert f"http://127.0.0.1:{api.port}/api/v1" in err
    with served(fleet) as again:
        assert again.ask("GET", f"/api/v1/jobs/{made['id']}")[1]["id"] == made["id"]
        again.process.send_signal(signal.SIGINT)
        code, out, err = again.ended()
    assert (code, out) == (0, "")


def test_the_first_token_is_made_also_if_the_database_comes_later(fleet: FleetShell) -> None:
    with PostgresServer() as postgres:
        postgres.stop()
        with starting(fleet, env={"SHOAL_DATABASE_URL": postgres.url()}) as api:
            postgres.start()
            until(lambda: (fleet.home / FILE).exists())
            api.token = (fleet.home / FILE).read_text().strip()
            until(lambda: api.ask("GET", "/api/v1/jobs")[0] == 200)
            api.process.send_signal(signal.SIGTERM)
            code, out, err = api.ended()
    assert (code, out) == (0, "")
    assert (
        "the API answers 503 until then" in err
        and f"created an admin token: it is stored in {fleet.home / FILE}" in err
    )


@pytest.mark.parametrize(("form", "options"), [("auto", []), ("json", []), ("auto", ["--json"])], ids=str)
def test_the_first_token_is_in_nothing_that_is_redirected_or_logged(
    fleet: FleetShell, form: str, options: list[str]
) -> None:
    with served(fleet, *options, env={"SHOAL_LOG": form}) as api:
        api.process.send_signal(signal.SIGTERM)
        code, out, err = api.ended()
    assert code == 0 and str(fleet.home / FILE) in (out if options else err)
    said = out + err + "".join(path.read_text() for path in fleet.home.rglob("*.log"))
    assert "API: http" in said and api.token.startswith("shoal_") and api.token not in said


def test_a_reload_refuses_nobody(api: Served) -> None:
    before = _answering(api)
    api.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + START_S
    while before & (now := _answering(api)) or not now:
        assert api.ask("GET", "/api/v1/jobs")[0] == 200
        assert time.monotonic() < deadline
    assert api.ask("GET", "/api/v1/jobs")[0] == 200


def _answering(api: Served) -> set[int]:
    """The processes that answer."""
    children = Path(f"/proc/{api.process.pid}/task/{api.process.pid}/children").read_text()
    return set(map(int, children.split()))


def test_an_answer_that_fails_on_its_way_ends_nothing_but_its_connection(fleet: FleetShell) -> None:
    port = free_port()
    command = [sys.executable, "-c", BREAKING, str(fleet.home), fleet.redis.url, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        api = Served(process, port, "")
        try:
            until(lambda: _answers(api))
            _, pid = api.ask("GET", "/pid")
            for _ in range(3):
                with pytest.raises(http.client.IncompleteRead):
                    api.ask("GET", "/breaks")
                assert api.ask("GET", "/pid") == (200, pid)
        finally:
            process.terminate()


def test_whoever_sends_a_head_slowly_holds_no_thread_for_long(api: Served) -> None:
    slow = [api.drip(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ") for _ in range(2)]
    assert api.ask("GET", "/livez")[0] == 200
    for one in slow:
        one.close()


def test_streams_leave_half_of_the_threads_to_others(api: Served) -> None:
    _, made = api.ask("POST", "/api/v1/jobs", {"urls": [URL]})
    head = f"POST /api/v1/jobs/{made['id']}/urls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.token}\r\n"
    head += "Content-Type: Text/Plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    with api.drip(head.encode()) as first, api.drip(head.encode()) as second:
        # Whichever came second; the other is still being read.
        refused, *_ = select.select([first, second], [], [], START_S)[0]
        told = refused.recv(1000)
        assert told.startswith(b"HTTP/1.1 503 ") and b"Retry-After" in told
        refused.close()
        assert api.ask("GET", "/livez")[0] == 200
        going_on = second if refused is first else first
        line = f"{URL}a\n".encode()
        going_on.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))
        assert going_on.recv(1000).startswith(b"HTTP/1.1 200 ")
    with api.drip(head.encode()) as third:
        third.sendall(b"0\r\n\r\n")
        assert third.recv(1000).startswith(b"HTTP/1.1 422 "), "there is room again"


def test_a_body_of_two_gigabytes_is_refused_before_it_is_sent(api: Served) -> None:
    head = f"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {2 << 30}\r\n\r\n"
    with api.drip(head.encode()) as big:
        assert big.recv(1000).startswith(b"HTTP/1.1 413 ")
    chunked = head.partition("Content-Length")[0] + "Transfer-Encoding: chunked\r\n\r\n"
    with api.drip(chunked.encode()) as big:
        piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        with suppress(ConnectionError):
            for _ in range(66):
                big.sendall(piece)
        assert big.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert _memory_bytes(api.process.pid) < 400 << 20


def _memory_bytes(pid: int) -> int:
    """The most that one of its processes took."""
    children = subprocess.run(["ps", "--ppid", str(pid), "-o", "rss="], capture_output=True, text=True, check=True)
    return max(int(line) for line in children.stdout.split()) * 1024


def test_without_a_fleet_it_says_what_is_missing(fleet: FleetShell) -> None:
    ran = fleet.apart("api", env={"SHOAL_REDIS_URL": ""})
    assert ran.code == 2 and "SHOAL_REDIS_URL" in ran.err


def test_a_port_that_is_taken_is_refused_at_once_and_no_token_made(fleet: FleetShell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = fleet.apart("api", "--port", str(port))
    assert ran.code == 2 and f"the API cannot listen on 127.0.0.1, port {port}: Address already in use" in ran.err
    assert ran.out == "" and not (fleet.home / FILE).exists()


def test_tokens_are_made_listed_and_removed_by_command(fleet: FleetShell) -> None:
    made = fleet("token", "add", "marketing", "--scope", "submit")
    assert made.code == 0 and made.out.startswith("shoal_") and made.out.count("\n") == 1
    assert fleet("token", "add", "marketing").code == 2
    listed = fleet("token", "list")
    assert "marketing" in listed.out and "submit" in listed.out and made.out.strip() not in listed.out
    (record,) = fleet("token", "list", "--json").lines
    assert (record["name"], record["scope"], record["used_at"]) == ("marketing", "submit", None)
    assert fleet("token", "remove", "marketing").code == 0
    assert fleet("token", "remove", "marketing").code == 2
    assert fleet("token", "list").out == ""


ODD_HEADS = [
    b"SCRIPT_NAME: /nowhere\r\n",
    b"Script_Name: /api\r\n",
    b"PATH_INFO: /nowhere\r\n",
    b"Script-Name: /nowhere\r\n",
    b"X-Forwarded-Proto: https\r\n",
    b"X-Forwarded-Prefix: /nowhere\r\n",
    b"Host: evil.test\xff\r\n",
    b"Host: \r\n",
    b"Host: evil.test:99999999999\r\n",
    b"Host: [::1\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999999999\r\n",
    b"Content-Length: \xb2\r\n",
    b"Authorization: Bearer \xff\x80\r\n",
    b"Authorization: \x00\r\n",
    b"X-Request-Id: \xed\xa0\x80\r\n",
    b"Expect: 999\r\n",
    b"Range: bytes=-99999999999999999999999999\r\n",
]
ODD_PATHS = [
    b"//api/v1/jobs",
    b"/api//v1/jobs",
    b"//tokens",
    b"//evil.test/api/v1/jobs",
    b"/api/v1/jobs/",
    b"/api/v1//jobs//x/pages",
    b"/docs/",
    b"/docs//",
    b"//",
    b"///",
    b"/\\evil.test",
    b"/api/v1/jobs/\xff\xfe",
    b"/api/v1/jobs/%ed%a0%80",
    b"/api/v1/jobs/%00",
    b"/api/v1/jobs?name=\xff",
    b"/api/v1/jobs?limit=%FF&limit",
    b"http://evil.test//api/v1/jobs",
    b"http://evil.test:x/api/v1/jobs",
    b"*",
    b"",
]


def raw(api: Served, path: bytes, head: bytes, host: bytes = b"Host: evil.test\r\n") -> bytes:
    """The head of the answer."""
    with socket.create_connection(("127.0.0.1", api.port), timeout=START_S) as sock:
        token = b"" if b"Authorization" in head else f"Authorization: Bearer {api.token}\r\n".encode()
        named = b"" if head.startswith(b"Host") else host
        sock.sendall(b"GET " + path + b" HTTP/1.1\r\n" + named + head + token + b"Connection: close\r\n\r\n")
        return sock.makefile("rb").read().partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_no_path_is_a_bug_or_leads_to_the_host_that_the_client_named(api: Served, path: bytes) -> None:
    head = raw(api, path, b"")
    assert b"HTTP/1.1 5" not in head and b"evil.test" not in head and b"location" not in head.lower(), head
    if path.startswith(b"//"):
        # Paths of slashes alone belong to the dashboard, whose answer is a page.
        kind = b"text/html" if not path.strip(b"/") else b"application/problem+json"
        assert head.startswith(b"HTTP/1.1 404") and kind in head


@pytest.mark.parametrize("given", ODD_HEADS)
def test_no_header_is_a_bug(api: Served, given: bytes) -> None:
    for path in (b"/api/v1/jobs", b"/livez", b"/"):
        head = raw(api, path, given)
        assert head and b"HTTP/1.1 5" not in head and b"evil.test" not in head, head


def test_no_client_says_what_path_the_api_is_served_below(api: Served) -> None:
    for given in (b"SCRIPT_NAME: /nowhere\r\n", b"script_name: /api\r\n", b"PATH_INFO: /nowhere\r\n"):
        assert raw(api, b"/api/v1/jobs", given).startswith(b"HTTP/1.1 200")


def test_what_lies_outside_the_path_that_the_api_is_served_below_is_not_found(fleet: FleetShell) -> None:
    with served(fleet, below="/crawls", env={"SCRIPT_NAME": "/crawls"}) as api:
        assert api.ask("GET", "/api/v1/jobs")[0] == 200
        assert raw(api, b"/api/v1/jobs", b"").startswith(b"HTTP/1.1 404 Not Found")
