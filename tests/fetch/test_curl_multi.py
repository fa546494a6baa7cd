"""What the loop sees of libcurl's sockets: kept connections cost nothing while they rest, limits of time hold."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_multi import EpollMulti
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure
from tests.fetch.site import Asked, Site, answer, hang, until


async def test_a_connection_that_its_host_closes_at_rest_is_forgotten(fetcher: Fetcher, site: Site) -> None:
    async def then_close(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await answer(b"ok")(asked, writer)
        connection = writer.get_extra_info("socket")
        asyncio.get_running_loop().call_later(0.01, connection.shutdown, socket.SHUT_RDWR)

    site.routes["/"] = then_close
    pages = await asyncio.gather(*(fetcher.fetch(Fetch(f"{site.url}/")) for _ in range(5)))
    assert all(isinstance(page, Exchange) for page in pages)
    await until(lambda: site.closed == site.connections)
    began = time.process_time()
    await asyncio.sleep(0.3)
    assert time.process_time() - began < 0.1, "closed connections keep the loop awake"


async def test_numbers_of_closed_sockets_may_be_used_again_by_others(fetcher: Fetcher, site: Site) -> None:
    """Each round's connection gets the number of the one before, or another socket has it meanwhile."""

    async def close(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    site.routes["/close"] = close
    for number in range(40):
        pages = await asyncio.gather(
            *(fetcher.fetch(Fetch(f"{site.url}/{path}", deadline_s=5)) for path in ("close", f"{number}", "close"))
        )
        assert all(isinstance(page, Exchange) for page in pages)
        with socket.socket():
            assert isinstance(await fetcher.fetch(Fetch(f"{site.url}/", deadline_s=5)), Exchange)


async def test_a_deadline_holds_while_others_with_later_ones_come_and_go(fetcher: Fetcher, site: Site) -> None:
    site.routes["/silent"] = hang
    silent = asyncio.create_task(fetcher.fetch(Fetch(f"{site.url}/silent", deadline_s=0.5)))
    began = time.monotonic()
    while not silent.done() and time.monotonic() - began < 5:
        assert isinstance(await fetcher.fetch(Fetch(f"{site.url}/", deadline_s=30)), Exchange)
    end = await silent
    assert isinstance(end, Failure) and end.kind == "timeout"
    assert 0.45 < end.latency_s < 4


async def test_a_deadline_holds_after_an_earlier_one_that_was_not_needed(fetcher: Fetcher, site: Site) -> None:
    site.routes["/silent"] = hang
    silent = asyncio.create_task(fetcher.fetch(Fetch(f"{site.url}/silent", deadline_s=0.6)))
    await until(lambda: len(site.asked) == 1)
    assert isinstance(await fetcher.fetch(Fetch(f"{site.url}/", deadline_s=0.2)), Exchange)
    end = await asyncio.wait_for(silent, 5)
    assert isinstance(end, Failure) and end.kind == "timeout"


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer_early(listening: socket.socket, accepted: list[socket.socket]) -> None:
    """Every connection gets its first answer before it asks for anything."""
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            accepted.append(connection)
            connection.sendall(OK)
            connection.recv(10_000)
            while connection.recv(10_000):
                connection.sendall(OK)


def hold_up(loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
    """Between any two steps of it."""
    time.sleep(0.02)
    if not over.is_set():
        loop.call_soon(hold_up, loop, over)


async def test_a_connection_is_kept_though_its_answer_was_there_before_anybody_waited_for_it(fetcher: Fetcher) -> None:
    """As on a machine so busy that a host has answered when libcurl first looks."""
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        site = threading.Thread(target=answer_early, args=(listening, accepted), daemon=True)
        site.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        hold_up(asyncio.get_running_loop(), over := threading.Event())
        pages = [await fetcher.fetch(Fetch(url))]
        over.set()
        pages += [await fetcher.fetch(Fetch(url)) for _ in range(4)]
    for connection in accepted:
        connection.shutdown(socket.SHUT_RDWR)
    await asyncio.to_thread(site.join, 5)
    for connection in accepted:
        connection.close()
    assert [isinstance(page, Exchange) and page.raw for page in pages] == [b"ok"] * 5
    assert len(accepted) == 1


async def test_what_nobody_asked_for_is_no_answer_to_the_next_request(fetcher: Fetcher, site: Site) -> None:
    """A second answer, the rest of a body, a 408 at rest: whatever comes between two requests spoils the connection."""
    more = [b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON", b"rest of a body", b"HTTP/1.1 408 Time-out\r\n\r\n"]

    async def and_more(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await answer(b"ok")(asked, writer)
        asyncio.get_running_loop().call_later(0.01, writer.write, more[len(site.asked) // 2])

    site.routes["/more"] = and_more
    multi = fetcher._multi
    assert isinstance(multi, EpollMulti)
    for place in range(len(more)):
        first = await fetcher.fetch(Fetch(f"{site.url}/more"))
        # A host that did it twice is given no second request on any connection.
        if place < 2:
            await until(lambda n=place: len(multi.unusable_ports) == n + 1)  # type: ignore[misc]
        second = await fetcher.fetch(Fetch(f"{site.url}/next"))
        assert isinstance(first, Exchange) and isinstance(second, Exchange)
        assert (first.raw, second.raw, second.status) == (b"ok", b"hello", 200)
    assert [asked.path for asked in site.asked] == ["/more", "/next"] * len(more)
