import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shoal.practice import Answer, LogEntry, Server, Visit, read_log
from shoal.practice.listener import Conditions
from shoal.practice.request_log import RequestLog
from tests.practice.visitor import get


def _echo(visit: Visit) -> Answer:
    delay_s = float(visit.query) if visit.query else 0.0
    return Answer(200, f"{visit.method} {visit.path} {visit.body.decode()}".encode(), delay_s=delay_s)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(_echo, ["127.0.0.1", "127.0.0.2"], log=RequestLog(tmp_path / "log")) as server:
        yield server


async def _say(server: Server, sent: bytes, host: str = "127.0.0.1") -> bytes:
    """Everything received until the server closes."""
    reader, writer = await asyncio.open_connection(host, server.port)
    writer.write(sent)
    received = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    await writer.wait_closed()
    return received


async def _get(url: str) -> tuple[int, bytes]:
    return await asyncio.to_thread(get, url)


async def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it did not come to be in time"
        await asyncio.sleep(0.005)


async def test_pipelined_requests_are_answered_in_order_even_if_the_first_is_slow(server: Server) -> None:
    last = b"GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n"
    received = await _say(server, b"GET /1?0.05 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n" + last)
    assert [part[:6] for part in received.split(b"GET ")[1:]] == [b"/1 HTT", b"/2 HTT", b"/3 "]


async def test_a_body_is_read_before_the_next_request(server: Server) -> None:
    post = b"POST /form HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
    received = await _say(server, post + b"GET /after HTTP/1.0\r\n\r\n")
    assert b"POST /form hello" in received
    assert received.endswith(b"GET /after ")


async def test_head_gives_the_length_but_no_body(server: Server) -> None:
    received = await _say(server, b"HEAD /page HTTP/1.0\r\n\r\n")
    assert b"Content-Length: 11\r\n" in received
    assert received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, b"431"),
    ],
)
async def test_what_is_not_http_is_refused(server: Server, sent: bytes, status: bytes) -> None:
    assert (await _say(server, sent)).startswith(b"HTTP/1.1 " + status)


async def test_the_log_has_agent_path_and_time_of_each_request(server: Server, tmp_path: Path) -> None:
    before = time.time()
    await _get(server.url("/slow?0.05", "127.0.0.2"))
    await server.stop()
    [entry] = read_log(tmp_path / "log")
    assert entry[2:7] == ("127.0.0.2", "GET", "/slow?0.05", 200, "tests")
    assert before - 0.01 <= entry.t_start <= entry.t_end - 0.049 <= time.time()


async def test_the_log_counts_requests_in_flight_per_host(server: Server, tmp_path: Path) -> None:
    urls = [server.url(f"/{n}?0.2", host) for n in range(3) for host in ("127.0.0.1", "127.0.0.2")]
    await asyncio.gather(*map(_get, urls))
    await server.stop()
    log = read_log(tmp_path / "log")
    for host in ("127.0.0.1", "127.0.0.2"):
        assert [entry.in_flight for entry in log if entry.host == host] == [1, 2, 3]
    assert len({entry.connection for entry in log}) == 6


async def test_requests_on_one_connection_have_its_number(server: Server, tmp_path: Path) -> None:
    await _say(server, b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.0\r\n\r\n")
    await server.stop()
    assert len({entry.connection for entry in read_log(tmp_path / "log")}) == 1


async def test_the_log_can_be_read_while_the_server_runs(server: Server, tmp_path: Path) -> None:
    await _get(server.url("/now"))
    await _until(lambda: bool(read_log(tmp_path / "log")))


async def test_a_visit_that_ends_early_is_logged_without_a_status(server: Server, tmp_path: Path) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /?30 HTTP/1.1\r\n\r\n")
    await _until(lambda: server.in_flight("127.0.0.1") == 1)
    writer.close()
    await writer.wait_closed()
    await _until(lambda: bool(read_log(tmp_path / "log")))
    assert read_log(tmp_path / "log")[0].status is None
    await _get(server.url("/next"))
    await server.stop()
    assert read_log(tmp_path / "log")[1].in_flight == 1


async def test_a_stop_closes_and_logs_waiting_visits(server: Server, tmp_path: Path) -> None:
    waiting = asyncio.create_task(_say(server, b"GET /?30 HTTP/1.1\r\n\r\n"))
    await _until(lambda: server.in_flight("127.0.0.1") == 1)
    await server.stop()
    assert await waiting == b""
    assert [entry.status for entry in read_log(tmp_path / "log")] == [None]


async def test_latency_and_jitter_can_be_set_while_it_runs(server: Server, tmp_path: Path) -> None:
    status, told = await _get(f"{server.control_url}?latency_ms=30&jitter_ms=10&host=127.0.0.2")
    assert status == 200
    assert json.loads(told)["127.0.0.2"]["latency_ms"] == 30
    for host in ("127.0.0.1", "127.0.0.2") * 5:
        await _get(server.url("/", host))
    await server.stop()
    took_s: dict[str, list[float]] = {}
    for entry in read_log(tmp_path / "log"):
        took_s.setdefault(entry.host, []).append(entry.t_end - entry.t_start)
    assert min(took_s["127.0.0.2"]) >= 0.029
    assert min(took_s["127.0.0.1"]) < min(took_s["127.0.0.2"])


async def test_a_host_can_be_made_to_fail_and_to_recover(server: Server) -> None:
    await _get(f"{server.control_url}?status=503")
    assert (await _get(server.url("/")))[0] == 503
    await _get(f"{server.control_url}?status=0")
    assert (await _get(server.url("/")))[0] == 200


async def test_a_host_that_is_down_refuses_and_closes_connections_until_it_is_up(server: Server) -> None:
    waiting = asyncio.create_task(_say(server, b"GET /?30 HTTP/1.1\r\n\r\n"))
    await _until(lambda: server.in_flight("127.0.0.1") == 1)
    await _get(f"{server.control_url}?down=1&host=127.0.0.1")
    assert await waiting == b""
    with pytest.raises(ConnectionRefusedError):
        await _get(server.url("/"))
    assert (await _get(server.url("/", "127.0.0.2")))[0] == 200
    await _get(f"{server.control_url}?down=0")
    assert (await _get(server.url("/")))[0] == 200


@pytest.mark.parametrize("asked", ["latency=1", "latency_ms=soon", "down=maybe", "host=10.0.0.1"])
async def test_an_invalid_control_request_is_refused_and_changes_nothing(server: Server, asked: str) -> None:
    _, before = await _get(server.control_url)
    assert (await _get(f"{server.control_url}?{asked}"))[0] == 400
    assert (await _get(server.control_url))[1] == before


async def test_control_is_neither_on_the_site_nor_in_its_log(server: Server, tmp_path: Path) -> None:
    await _get(server.control_url)
    assert await _get(server.url("/-/control")) == (200, b"GET /-/control ")
    await server.stop()
    assert len(read_log(tmp_path / "log")) == 1


async def test_a_port_in_use_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        await Server(_echo, ["127.0.0.1"], server.port).start()


async def test_many_connections_at_once_are_all_served(server: Server) -> None:
    request = b"GET /x HTTP/1.1\r\n\r\n" * 49 + b"GET /x HTTP/1.0\r\n\r\n"
    received = await asyncio.gather(*(_say(server, request) for _ in range(100)))
    assert sum(part.count(b"HTTP/1.1 200 OK") for part in received) == 5_000


async def test_conditions_apply_from_the_start() -> None:
    async with Server(_echo, ["127.0.0.1"], conditions=Conditions(status=429)) as server:
        assert (await _get(server.url("/")))[0] == 429


def test_a_last_line_cut_off_by_a_kill_is_ignored(tmp_path: Path) -> None:
    whole = json.dumps(LogEntry(1.0, 2.0, "127.0.0.1", "GET", "/", 200, "", 1, 1)._asdict())
    (tmp_path / "log").write_text(f"{whole}\n{whole[:20]}")
    assert len(read_log(tmp_path / "log")) == 1
