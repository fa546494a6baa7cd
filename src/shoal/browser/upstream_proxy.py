"""Connects through the job's own proxy: http by CONNECT, socks5 and socks5h, socks4 and socks4a."""

from __future__ import annotations

import asyncio
import base64
import socket
import struct
from ipaddress import IPv4Address, ip_address
from urllib.parse import unquote, urlsplit

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import CONNECT_TIMEOUT_S

_PORTS = {"http": 80, "socks5": 1080, "socks5h": 1080, "socks4": 1080, "socks4a": 1080}
"""Usual ports by scheme."""
_MOST_HEAD_BYTES = 16_384
_NO_AUTH, _BY_PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_GRANTED_4 = 90
_MOST_NAME = 255


class UpstreamRefused(Exception):
    pass


class UpstreamProxy:
    def __init__(self, url: str, guard: AddressGuard) -> None:
        parts = urlsplit(url)
        self._scheme, self._host = parts.scheme, parts.hostname or ""
        self._port = parts.port or _PORTS.get(parts.scheme, 0)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._guard = guard

    @property
    def needs_address(self) -> bool:
        """Whether we resolve names for it."""
        return self._scheme in ("socks5", "socks4")

    async def connect(self, host: str, port: int) -> socket.socket:
        """Raises UpstreamRefused, whose text names no address."""
        if self._scheme not in _PORTS:
            raise UpstreamRefused(f"rendering cannot use a proxy over {self._scheme}: give one over http or socks5")
        try:
            async with asyncio.timeout(2 * CONNECT_TIMEOUT_S):
                opened = await self._open()
                try:
                    await self._ask(opened, host, port)
                except BaseException:
                    # Also if the dial is cancelled.
                    opened.close()
                    raise
                return opened
        except TimeoutError:
            raise UpstreamRefused("the proxy does not answer") from None
        except (OSError, EOFError, UnicodeError) as error:
            raise UpstreamRefused(f"the proxy cannot be used: {error}") from error

    async def _open(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        allowed = [(family, where) for family, _, _, _, where in found if self._guard.allows_proxy(str(where[0]))]
        if not allowed:
            raise UpstreamRefused("the proxy's address is not allowed: it is private or reserved")
        family, where = allowed[0]
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setblocking(False)
        try:
            await loop.sock_connect(opened, where)
        except BaseException:
            # Also if the dial is cancelled.
            opened.close()
            raise
        return opened

    async def _ask(self, opened: socket.socket, host: str, port: int) -> None:
        match self._scheme:
            case "http":
                await self._ask_http(opened, host, port)
            case "socks5" | "socks5h":
                await self._ask_socks5(opened, host, port)
            case "socks4" | "socks4a":
                await self._ask_socks4(opened, host, port)

    async def _ask_http(self, opened: socket.socket, host: str, port: int) -> None:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        if self._user:
            secret = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {secret}")
        await _send(opened, "\r\n".join((*lines, "", "")).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # Byte by byte: what follows belongs to the page.
            head += await _receive(opened, 1)
            if len(head) > _MOST_HEAD_BYTES:
                raise UpstreamRefused("the proxy's answer is too long")
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            raise UpstreamRefused(f"the proxy answered {b''.join(status).decode('latin-1')[:20] or 'nothing'}")

    async def _ask_socks5(self, opened: socket.socket, host: str, port: int) -> None:
        way = _BY_PASSWORD if self._user else _NO_AUTH
        await _send(opened, bytes([5, 1, way]))
        _, chosen = await _receive(opened, 2)
        if chosen != way:
            raise UpstreamRefused("the proxy refuses our credentials" if self._user else "the proxy needs a password")
        if self._user:
            user, password = self._user.encode()[:_MOST_NAME], self._password.encode()[:_MOST_NAME]
            await _send(opened, bytes([1, len(user)]) + user + bytes([len(password)]) + password)
            if (await _receive(opened, 2))[1]:
                raise UpstreamRefused("the proxy refuses our credentials")
        await _send(opened, b"\x05\x01\x00" + _socks5_address(host) + struct.pack(">H", port))
        _, reply, _, kind = await _receive(opened, 4)
        length = {_IPV4: 4, _IPV6: 16}.get(kind) or (await _receive(opened, 1))[0]
        await _receive(opened, length + 2)
        if reply:
            raise UpstreamRefused(f"the proxy refused the connection (SOCKS5 reply {reply})")

    async def _ask_socks4(self, opened: socket.socket, host: str, port: int) -> None:
        """An address of 0.0.0.1 says that the name follows (SOCKS4a)."""
        try:
            address, name = IPv4Address(host).packed, b""
        except ValueError:
            address, name = b"\0\0\0\1", host.encode("idna") + b"\0"
        request = b"\x04\x01" + struct.pack(">H", port) + address + self._user.encode() + b"\0" + name
        await _send(opened, request)
        reply = (await _receive(opened, 8))[1]
        if reply != _GRANTED_4:
            raise UpstreamRefused(f"the proxy refused the connection (SOCKS4 reply {reply})")


def _socks5_address(host: str) -> bytes:
    try:
        address = ip_address(host)
    except ValueError:
        name = host.encode("idna")[:_MOST_NAME]
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed


async def _send(opened: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(opened, data)


async def _receive(opened: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = await asyncio.get_running_loop().sock_recv(opened, count - len(data))
        if not more:
            raise EOFError("it closed the connection")
        data += more
    return data
