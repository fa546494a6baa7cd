"""The proxy of one page: everything that the page sends and receives goes through it, is counted, and is limited.

Chromium speaks SOCKS5 for http, https, ws and wss alike, and sends names instead of addresses. So the browser resolves
no name, no request needs to be parsed, and no refusal can be mistaken for the site's answer, as an HTTP proxy's 403.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import cast

from shoal.browser.guarded_dial import DialRefused, GuardedDial

MOST_CONNECTIONS = 64
MOST_REFUSALS = 100
_BUFFER_BYTES = 1 << 18
_MOST_HANDSHAKE_BYTES = 1_024
_GREETING, _REQUEST, _DIALLING, _OPEN = range(4)
_CONNECT = 1
_ADDRESS_BYTES = {1: 4, 4: 16}
_BY_NAME = 3
_GRANTED = b"\x05\x00\x00\x01\0\0\0\0\0\0"
_NOT_ALLOWED, _UNREACHABLE, _BAD_COMMAND = 2, 4, 7


@dataclass(slots=True)
class Traffic:
    """What went through the proxy of a page."""

    bytes: int = 0
    open: int = 0
    is_over: bool = False
    """The page exceeded its bytes; all its connections were closed."""
    refusals: dict[str, DialRefused] = field(default_factory=dict)
    """Host -> why it was not connected to. The browser itself only says that the proxy refused."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Host -> the address that it was found at."""


class SocksProxy:
    def __init__(self, dial: GuardedDial, most_bytes: int) -> None:
        self.dial = dial
        self.traffic = Traffic()
        self.most_bytes = most_bytes
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.Transport] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def listen(self, listener: socket.socket) -> str:
        """Uses a copy of the socket, which can be used again after `close`. Returns the URL of the proxy."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _FromBrowser(self), sock=listener.dup())
        return f"socks5://127.0.0.1:{listener.getsockname()[1]}"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self.tasks):
            task.cancel()
        self._abort_all()

    def opened(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(_BUFFER_BYTES)
        self._transports.add(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        self._transports.discard(transport)

    def count(self, bytes: int) -> None:
        self.traffic.bytes += bytes
        if self.traffic.bytes > self.most_bytes and not self.traffic.is_over:
            self.traffic.is_over = True
            self._abort_all()

    async def connect(self, host: str, port: int, browser: _FromBrowser) -> _ToSite:
        """Raises DialRefused."""
        traffic = self.traffic
        if traffic.is_over:
            raise DialRefused("too_large", "the page brought too many bytes")
        if traffic.open > MOST_CONNECTIONS:
            raise DialRefused("too_large", "the page opened too many connections")
        opened, address = await self.dial.connect(host, port)
        traffic.addresses[host] = address
        try:
            _, site = await asyncio.get_running_loop().create_connection(lambda: _ToSite(browser), sock=opened)
        except OSError as error:
            opened.close()
            raise DialRefused("connect", f"cannot connect to {host}:{port}: {error}") from error
        return site

    def _abort_all(self) -> None:
        for transport in list(self._transports):
            transport.abort()


class _ToSite(asyncio.Protocol):
    """The connection to the site. It reads no faster than the browser does, and the other way round."""

    def __init__(self, browser: _FromBrowser) -> None:
        self._browser = browser

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._browser.proxy.opened(self.transport)

    def data_received(self, data: bytes) -> None:
        self._browser.proxy.count(len(data))
        if not self._browser.transport.is_closing():
            self._browser.transport.write(data)

    def eof_received(self) -> bool:
        if not self._browser.transport.is_closing():
            self._browser.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        self._browser.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._browser.transport.is_closing():
            self._browser.transport.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        self._browser.proxy.closed(self.transport)
        self._browser.transport.close()


class _FromBrowser(asyncio.Protocol):
    """A connection of the browser: greeting, request, and then only bytes."""

    def __init__(self, proxy: SocksProxy) -> None:
        self.proxy = proxy
        self._stage = _GREETING
        self._buffer = b""
        self._site: _ToSite | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.proxy.opened(self.transport)
        self.proxy.traffic.open += 1

    def data_received(self, data: bytes) -> None:
        if self._site is not None:
            self.proxy.count(len(data))
            self._site.transport.write(data)
            return
        self._buffer += data
        if len(self._buffer) > _MOST_HANDSHAKE_BYTES and self._stage < _DIALLING:
            self.transport.abort()
            return
        if self._stage == _GREETING:
            self._greet()
        if self._stage == _REQUEST:
            self._read_request()

    def _greet(self) -> None:
        if len(self._buffer) < 2 or len(self._buffer) < 2 + self._buffer[1]:
            return
        if self._buffer[0] != 5:
            self.transport.abort()
            return
        self._buffer = self._buffer[2 + self._buffer[1] :]
        self._stage = _REQUEST
        self.transport.write(b"\x05\x00")

    def _read_request(self) -> None:
        request = self._buffer
        if len(request) < 5:
            return
        kind = request[3]
        length = 1 + request[4] if kind == _BY_NAME else _ADDRESS_BYTES.get(kind, 0)
        if request[1] != _CONNECT or not length:
            self._refuse(_BAD_COMMAND)
            return
        end = 4 + length
        if len(request) < end + 2:
            return
        spelt = request[4:end]
        host = spelt[1:].decode("ascii", "replace").rstrip(".").lower() if kind == _BY_NAME else str(ip_address(spelt))
        port = struct.unpack(">H", request[end : end + 2])[0]
        self._buffer, self._stage = request[end + 2 :], _DIALLING
        task = asyncio.get_running_loop().create_task(self._connect(host, port))
        self.proxy.tasks.add(task)
        task.add_done_callback(self.proxy.tasks.discard)

    async def _connect(self, host: str, port: int) -> None:
        self.transport.pause_reading()
        try:
            site = await self.proxy.connect(host, port, self)
        except DialRefused as refusal:
            refusals = self.proxy.traffic.refusals
            if len(refusals) < MOST_REFUSALS:
                refusals.setdefault(host, refusal)
            self._refuse(_NOT_ALLOWED if refusal.kind == "address_refused" else _UNREACHABLE)
            return
        if self.transport.is_closing():
            site.transport.abort()
            return
        self._site, self._stage = site, _OPEN
        self.transport.write(_GRANTED)
        if self._buffer:
            self.proxy.count(len(self._buffer))
            site.transport.write(self._buffer)
            self._buffer = b""
        self.transport.resume_reading()

    def _refuse(self, reply: int) -> None:
        if not self.transport.is_closing():
            self.transport.write(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
            self.transport.close()

    def eof_received(self) -> bool:
        if self._site is None or self._site.transport.is_closing():
            return False
        self._site.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        if self._site is not None:
            self._site.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._site is not None and not self._site.transport.is_closing():
            self._site.transport.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        self.proxy.closed(self.transport)
        self.proxy.traffic.open -= 1
        if self._site is not None:
            self._site.transport.close()
