"""The proxy of a page: refuses what the guard refuses, counts bytes, and goes through the job's own proxy."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from shoal.browser.guarded_dial import GuardedDial
from shoal.browser.socks_proxy import SocksProxy
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.dns import DnsResolver
from tests.fetch.site import Site, serving

GRANTED, NOT_ALLOWED, UNREACHABLE, BAD_COMMAND = 0, 2, 4, 7
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site()) as site:
        yield site


@asynccontextmanager
async def proxying(
    guard: AddressGuard, proxy: str = "", most_bytes: int = 10**6
) -> AsyncIterator[tuple[SocksProxy, int]]:
    names = DnsResolver()
    socks = SocksProxy(GuardedDial(guard, names, proxy), most_bytes)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await socks.listen(listener)
        yield socks, listener.getsockname()[1]
        socks.close()
        await asyncio.sleep(0)
    await names.aclose()


async def refusal(port: int, host: str, to: int, command: int = 1) -> int:
    reply, (_, writer) = await ask(port, host, to, command)
    writer.close()
    return reply


async def ask(port: int, host: str, to: int, command: int = 1) -> tuple[int, Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\x05\x01\x00")
    assert await reader.readexactly(2) == b"\x05\x00"
    writer.write(bytes([5, command, 0, 3, len(host)]) + host.encode() + struct.pack(">H", to))
    return (await reader.readexactly(10))[1], (reader, writer)


async def get(streams: Streams) -> bytes:
    reader, writer = streams
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = await reader.readuntil(b"hello")
    writer.close()
    return answer


async def test_what_the_guard_refuses_is_not_dialled(site: Site) -> None:
    async with proxying(AddressGuard()) as (socks, port):
        for host in ("127.0.0.1", "localhost", "x.localhost", "::ffff:127.0.0.1", "169.254.169.254"):
            assert await refusal(port, host, site.port) == NOT_ALLOWED
            assert socks.traffic.refusals[host].kind == "address_refused"
        for host in ("nowhere.invalid", "x.onion"):
            assert await refusal(port, host, 80) == UNREACHABLE
    assert not site.asked


@pytest.mark.parametrize("command", [2, 3])
async def test_only_connections_are_made_no_binding_and_no_udp(site: Site, command: int) -> None:
    async with proxying(AddressGuard(True)) as (_, port):
        assert await refusal(port, "127.0.0.1", site.port, command) == BAD_COMMAND


async def test_bytes_go_both_ways_and_are_counted(site: Site) -> None:
    async with proxying(AddressGuard(True)) as (socks, port):
        reply, streams = await ask(port, "localhost", site.port)
        assert reply == GRANTED and (await get(streams)).endswith(b"hello")
        assert socks.traffic.bytes > 60 and socks.traffic.addresses == {"localhost": "127.0.0.1"}


async def test_beyond_its_bytes_a_page_is_cut_off(site: Site) -> None:
    async with proxying(AddressGuard(True), most_bytes=40) as (socks, port):
        _, streams = await ask(port, "127.0.0.1", site.port)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await get(streams)
        streams[1].close()
        assert socks.traffic.is_over
        assert await refusal(port, "127.0.0.1", site.port) == UNREACHABLE


@asynccontextmanager
async def upstream(serve: Serve) -> AsyncIterator[int]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
    writer.close()


async def test_a_job_with_an_http_proxy_goes_through_it() -> None:
    heads = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await _hello(reader, writer)

    async with upstream(serve) as place, proxying(AddressGuard(), f"http://u:p@127.0.0.1:{place}") as (_, port):
        reply, streams = await ask(port, "shop.example.com", 443)
        assert reply == GRANTED and (await get(streams)).endswith(b"hello")
        assert await refusal(port, "127.0.0.1", 80) == NOT_ALLOWED
    assert len(heads) == 1
    assert heads[0].startswith(b"CONNECT shop.example.com:443 HTTP/1.1") and b"Basic dTpw" in heads[0]


async def test_a_job_with_a_socks_proxy_goes_through_it() -> None:
    asked = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(b"\x05\x00")
        head = await reader.readexactly(5)
        asked.append(await reader.readexactly(head[4] + 2))
        writer.write(b"\x05\x00\x00\x01\0\0\0\0\0\0")
        await _hello(reader, writer)

    async with upstream(serve) as place, proxying(AddressGuard(), f"socks5h://127.0.0.1:{place}") as (_, port):
        reply, streams = await ask(port, "shop.example.com", 443)
        assert reply == GRANTED and (await get(streams)).endswith(b"hello")
    assert asked == [b"shop.example.com\x01\xbb"]


@pytest.mark.parametrize("scheme", ["https", "provider"])
async def test_a_proxy_that_browsers_cannot_use_is_not_dialled(scheme: str) -> None:
    dialled = []

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dialled.append(scheme)
        writer.close()

    async with upstream(serve) as place, proxying(AddressGuard(), f"{scheme}://127.0.0.1:{place}") as (socks, port):
        assert await refusal(port, "shop.example.com", 443) == UNREACHABLE
        assert f"cannot use a proxy over {scheme}" in str(socks.traffic.refusals["shop.example.com"])
    assert not dialled


async def test_a_proxy_that_refuses_is_named() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 No\r\n\r\n")
        writer.close()

    async with upstream(serve) as place, proxying(AddressGuard(), f"http://127.0.0.1:{place}") as (socks, port):
        assert await refusal(port, "shop.example.com", 443) == UNREACHABLE
        assert str(socks.traffic.refusals["shop.example.com"]) == "the proxy answered 407"
