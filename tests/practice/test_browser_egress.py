"""The page that tries every way out. In a browser without a guard its ways are open, or it would prove nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from shoal.practice import Server
from shoal.practice.hostile.browser_egress import EGRESS_PAGE, Arrival, Canaries, EgressSite
from shoal.practice.hostile.browser_egress.egress_techniques import LAST
from tests.practice.bare_browser import browsing


@pytest.fixture
async def canaries() -> AsyncIterator[Canaries]:
    async with Canaries() as canaries:
        yield canaries


async def arrived(canaries: Canaries, *arrivals: Arrival) -> None:
    """Waits until all of them have."""
    async with asyncio.timeout(60):
        while not set(arrivals) <= set(canaries.arrivals):  # noqa: ASYNC110 - they arrive from another process
            await asyncio.sleep(0.02)


async def test_most_ways_out_are_open_in_a_browser_without_a_guard(canaries: Canaries) -> None:
    site = EgressSite(canaries.place, canaries.udp_place)
    async with Server(site.answer, site.addresses) as server, browsing(server.url(EGRESS_PAGE)):
        await arrived(canaries, Arrival("http", LAST), Arrival("stun", ""), Arrival("udp", ""))
    assert len(canaries.ways("http")) >= 60
    assert {"img", "fetch", "worker-fetch", "service-worker", "web-socket", "beacon"} <= canaries.ways("http")


async def test_a_connection_a_request_and_a_packet_are_arrivals(canaries: Canaries) -> None:
    reader, writer = await asyncio.open_connection(canaries.address, canaries.http_port)
    await arrived(canaries, Arrival("tcp", ""))
    writer.write(b"GET /fetch?x HTTP/1.1\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"quic", (canaries.address, canaries.udp_port))
        sender.sendto(b"\0\x01\0\0\x21\x12\xa4\x42", (canaries.address, canaries.udp_port))
    await arrived(canaries, Arrival("http", "fetch"), Arrival("udp", ""), Arrival("stun", ""))


async def test_a_question_for_a_name_is_an_arrival_and_no_name_exists(canaries: Canaries) -> None:
    question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\x04Stun\x06egress\x04test\0" + struct.pack(">2H", 1, 1)
    with socket.socket(type=socket.SOCK_DGRAM) as asker:
        asker.setblocking(False)
        asker.sendto(question, (canaries.address, canaries.dns_port))
        asker.sendto(b"nonsense", (canaries.address, canaries.dns_port))
        async with asyncio.timeout(60):
            answer = await asyncio.get_running_loop().sock_recv(asker, 512)
    assert answer[:2] == question[:2] and answer[3] & 0x0F == 3
    assert canaries.arrivals == [Arrival("dns", "stun")]
