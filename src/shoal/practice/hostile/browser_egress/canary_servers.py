"""Servers that nobody should reach: one for TCP, one for UDP, one for DNS. They count arrivals and answer just enough.

A way out is known by the path of an HTTP request, or by the name that a resolver is asked for. Other packets of UDP
have neither.
"""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple, Self, cast

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\nAccess-Control-Allow-Origin: *\r\n"
    b"Access-Control-Allow-Headers: *\r\nConnection: close\r\n\r\n"
)
_STUN_COOKIE = b"\x21\x12\xa4\x42"
_MAX_HEAD_BYTES = 65_536


class Arrival(NamedTuple):
    protocol: str
    """`http`, `tcp` for anything else over TCP, `stun`, `udp` for anything else over UDP, or `dns`."""
    way: str
    """The first step of the path, or the first label of the name; empty if the protocol has neither."""


class Canaries:
    """Listen on free ports of an address while the block runs; `dns_port` 53 is the one that resolvers ask."""

    def __init__(self, address: str = "127.0.0.1", dns_port: int = 0) -> None:
        self.address = address
        self.dns_port = dns_port
        self.http_port = self.udp_port = 0
        self.arrivals: list[Arrival] = []
        self._closing: list[asyncio.Server | asyncio.DatagramTransport] = []

    @property
    def place(self) -> str:
        """Host and port for HTTP."""
        return f"{self.address}:{self.http_port}"

    @property
    def udp_place(self) -> str:
        return f"{self.address}:{self.udp_port}"

    def ways(self, *protocols: str) -> set[str]:
        return {arrival.way for arrival in self.arrivals if arrival.protocol in protocols}

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _HttpCanary(self), self.address, 0)
        self.http_port = server.sockets[0].getsockname()[1]
        udp, self.udp_port = await self._listen(_UdpCanary, 0)
        dns, self.dns_port = await self._listen(_DnsCanary, self.dns_port)
        self._closing = [server, udp, dns]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for listener in self._closing:
            listener.close()
        await asyncio.sleep(0)

    async def _listen(self, kind: type[_UdpCanary], port: int) -> tuple[asyncio.DatagramTransport, int]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: kind(self), (self.address, port))
        return transport, transport.get_extra_info("sockname")[1]


class _HttpCanary(asyncio.Protocol):
    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # A connection alone, such as by preconnect, is an arrival as well.
        self._canaries.arrivals.append(Arrival("tcp", ""))

    def data_received(self, data: bytes) -> None:
        self._received += data
        line, ended, _ = self._received.partition(b"\r\n")
        parts = line.split(b" ")
        if ended and len(parts) == 3 and parts[1].startswith(b"/"):
            way = parts[1].decode("latin-1").strip("/").partition("?")[0].partition("/")[0]
            self._canaries.arrivals.append(Arrival("http", way))
            self._transport.write(_ANSWER)
            self._transport.close()
        elif ended or len(self._received) > _MAX_HEAD_BYTES:
            self._transport.close()


class _UdpCanary(asyncio.DatagramProtocol):
    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self._canaries.arrivals.append(Arrival("stun" if data[4:8] == _STUN_COOKIE else "udp", ""))


class _DnsCanary(_UdpCanary):
    """Answers that no name exists."""

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if len(data) < 17 or len(data) < 17 + data[12]:
            return
        way = data[13 : 13 + data[12]].decode("latin-1").lower()
        self._canaries.arrivals.append(Arrival("dns", way))
        self._transport.sendto(data[:2] + b"\x81\x83" + struct.pack(">4H", 1, 0, 0, 0) + data[12:], address)
